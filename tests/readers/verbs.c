// SPDX-License-Identifier: Apache-2.0
// A stand-in for libibverbs.so.1 with the devices of /sys/class/infiniband, one port each. Says on the
// standard error which device is opened, which gets a protection domain, and which GID rows are read. Nothing
// is ever transferred.
#include <arpa/inet.h>
#include <dirent.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define ROOT "/sys/class/infiniband"
#define MOST 64
#define ROWS 8

static void told(const char* what, const struct ibv_device* device, int index) {
  dprintf(2, "\nverbs: %s %s %d\n", what, device->name, index);
}

// Reads the first line of a file below the device's port; empty where there is none.
static const char* line_of(const struct ibv_device* device, const char* path, char* line, int size) {
  char name[512];
  snprintf(name, sizeof name, ROOT "/%s/ports/1/%s", device->name, path);
  FILE* file = fopen(name, "r");
  line[0] = 0;
  if (file) {
    if (!fgets(line, size, file)) line[0] = 0;
    fclose(file);
  }
  return line;
}

static int by_name(const struct dirent** a, const struct dirent** b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

struct ibv_device** ibv_get_device_list(int* count) {
  static struct ibv_device devices[MOST];
  struct ibv_device** list = calloc(MOST + 1, sizeof *list);
  struct dirent** entries;
  int found = 0, all = scandir(ROOT, &entries, NULL, by_name);
  for (int i = 0; i < all && found < MOST; ++i) {
    if (entries[i]->d_name[0] == '.') continue;
    struct ibv_device* device = &devices[found];
    device->node_type = IBV_NODE_CA;
    device->transport_type = IBV_TRANSPORT_IB;
    const char* name = entries[i]->d_name;
    snprintf(device->name, sizeof device->name, "%.63s", name);
    snprintf(device->dev_name, sizeof device->dev_name, "uverbs%d", found);
    snprintf(device->ibdev_path, sizeof device->ibdev_path, ROOT "/%.63s", name);
    list[found++] = device;
  }
  if (count) *count = found;
  return list;
}

void ibv_free_device_list(struct ibv_device** list) {
  free(list);
}
const char* ibv_get_device_name(struct ibv_device* device) {
  return device->name;
}

struct ibv_context* ibv_open_device(struct ibv_device* device) {
  // Callers look in front of the context for the extended one, which is absent: zeros.
  struct ibv_context* context = (struct ibv_context*)((char*)calloc(1, 65536) + 4096);
  context->device = device;
  context->num_comp_vectors = 1;
  context->async_fd = eventfd(0, 0);  // nothing ever happens
  told("open", device, 0);
  return context;
}

int ibv_query_device(struct ibv_context* context, struct ibv_device_attr* attributes) {
  (void)context;
  memset(attributes, 0, sizeof *attributes);
  attributes->phys_port_cnt = 1;
  attributes->vendor_id = 0x2c9;
  attributes->max_qp = attributes->max_cq = attributes->max_mr = attributes->max_cqe = attributes->max_qp_wr =
      1024;
  attributes->max_sge = attributes->max_qp_rd_atom = attributes->max_qp_init_rd_atom = 16;
  attributes->max_mr_size = UINT64_MAX;
  attributes->atomic_cap = IBV_ATOMIC_HCA;
  return 0;
}

int ibv_query_port(struct ibv_context* context, uint8_t port, struct _compat_ibv_port_attr* into) {
  struct ibv_port_attr attributes = {
      .max_mtu = IBV_MTU_4096, .active_mtu = IBV_MTU_4096, .gid_tbl_len = ROWS};
  char line[64];
  (void)port;
  attributes.state = atoi(line_of(context->device, "state", line, sizeof line));
  attributes.phys_state = attributes.state == IBV_PORT_ACTIVE ? 5 : 3;
  attributes.active_speed = 64;
  attributes.active_width = 2;
  attributes.link_layer = strncmp(line_of(context->device, "link_layer", line, sizeof line), "Eth", 3)
                              ? IBV_LINK_LAYER_INFINIBAND
                              : IBV_LINK_LAYER_ETHERNET;
  attributes.lid = attributes.link_layer == IBV_LINK_LAYER_INFINIBAND;
  memcpy(into, &attributes, 48);  // the compatible part
  return 0;
}

static int row(struct ibv_context* context, int index, union ibv_gid* gid, int* version_2) {
  char path[64], line[64];
  memset(gid, 0, sizeof *gid);
  snprintf(path, sizeof path, "gids/%d", index);
  line_of(context->device, path, line, sizeof line);
  line[strcspn(line, "\n")] = 0;
  if (inet_pton(AF_INET6, line, gid->raw) != 1) return -1;
  snprintf(path, sizeof path, "gid_attrs/types/%d", index);
  *version_2 = strncmp(line_of(context->device, path, line, sizeof line), "RoCE v2", 7) == 0;
  return 0;
}

int ibv_query_gid(struct ibv_context* context, uint8_t port, int index, union ibv_gid* gid) {
  int version_2;
  (void)port;
  told("gid", context->device, index);
  return row(context, index, gid, &version_2);
}

int _ibv_query_gid_ex(struct ibv_context* context, uint32_t port, uint32_t index, struct ibv_gid_entry* entry,
                      uint32_t flags, size_t size) {
  int version_2;
  (void)flags, (void)size;
  told("gid", context->device, (int)index);
  if (row(context, (int)index, &entry->gid, &version_2)) return 61;  // ENODATA
  entry->gid_index = index;
  entry->port_num = port;
  entry->gid_type = version_2 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
  entry->ndev_ifindex = 1;
  return 0;
}

struct ibv_pd* ibv_alloc_pd(struct ibv_context* context) {
  struct ibv_pd* domain = calloc(1, 256);
  domain->context = context;
  told("domain", context->device, 0);
  return domain;
}

struct ibv_mr* ibv_reg_mr(struct ibv_pd* domain, void* address, size_t length, int access) {
  struct ibv_mr* region = calloc(1, 256);
  (void)access;
  region->addr = address;
  region->length = length;
  region->pd = domain;
  region->context = domain->context;
  return region;
}

struct ibv_mr* ibv_reg_mr_iova2(struct ibv_pd* domain, void* address, size_t length, uint64_t at,
                                unsigned access) {
  (void)at;
  return ibv_reg_mr(domain, address, length, (int)access);
}

struct ibv_mr* ibv_reg_mr_iova(struct ibv_pd* domain, void* address, size_t length, uint64_t at, int access) {
  (void)at;
  return ibv_reg_mr(domain, address, length, access);
}

struct ibv_mr* ibv_reg_dmabuf_mr(struct ibv_pd* domain, uint64_t offset, size_t length, uint64_t at, int fd,
                                 int access) {
  (void)offset, (void)at, (void)fd;
  return ibv_reg_mr(domain, NULL, length, access);
}

struct ibv_cq* ibv_create_cq(struct ibv_context* context, int size, void* user,
                             struct ibv_comp_channel* channel, int v) {
  struct ibv_cq* queue = calloc(1, 512);
  (void)v;
  queue->context = context;
  queue->channel = channel;
  queue->cq_context = user;
  queue->cqe = size;
  return queue;
}

struct ibv_comp_channel* ibv_create_comp_channel(struct ibv_context* context) {
  struct ibv_comp_channel* channel = calloc(1, 256);
  channel->context = context;
  channel->fd = eventfd(0, 0);
  return channel;
}

static void* some(void) {
  return calloc(1, 512);
}
struct ibv_qp* ibv_create_qp(struct ibv_pd* d, struct ibv_qp_init_attr* a) {
  return (void)d, (void)a, some();
}
struct ibv_srq* ibv_create_srq(struct ibv_pd* d, struct ibv_srq_init_attr* a) {
  return (void)d, (void)a, some();
}
struct ibv_ah* ibv_create_ah(struct ibv_pd* d, struct ibv_ah_attr* a) {
  return (void)d, (void)a, some();
}
const char* ibv_wc_status_str(enum ibv_wc_status s) {
  return (void)s, "?";
}
const char* ibv_event_type_str(enum ibv_event_type e) {
  return (void)e, "?";
}
int ibv_get_async_event(struct ibv_context* c, struct ibv_async_event* e) {
  return (void)c, (void)e, -1;
}
int ibv_get_cq_event(struct ibv_comp_channel* c, struct ibv_cq** q, void** u) {
  return (void)c, (void)q, (void)u, -1;
}
void ibv_ack_async_event(struct ibv_async_event* e) {
  (void)e;
}
void ibv_ack_cq_events(struct ibv_cq* q, unsigned n) {
  (void)q, (void)n;
}
int ibv_modify_qp(struct ibv_qp* q, struct ibv_qp_attr* a, int m) {
  return (void)q, (void)a, (void)m, 0;
}
int ibv_query_qp(struct ibv_qp* q, struct ibv_qp_attr* a, int m, struct ibv_qp_init_attr* i) {
  return (void)q, (void)a, (void)m, (void)i, 0;
}
int ibv_fork_init(void) {
  return 0;
}
int ibv_close_device(struct ibv_context* c) {
  return (void)c, 0;
}
int ibv_dealloc_pd(struct ibv_pd* d) {
  return (void)d, 0;
}
int ibv_dereg_mr(struct ibv_mr* r) {
  return (void)r, 0;
}
int ibv_destroy_cq(struct ibv_cq* q) {
  return (void)q, 0;
}
int ibv_destroy_qp(struct ibv_qp* q) {
  return (void)q, 0;
}
int ibv_destroy_srq(struct ibv_srq* s) {
  return (void)s, 0;
}
int ibv_destroy_ah(struct ibv_ah* a) {
  return (void)a, 0;
}
int ibv_destroy_comp_channel(struct ibv_comp_channel* c) {
  return (void)c, 0;
}
