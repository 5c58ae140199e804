# SPDX-License-Identifier: Apache-2.0
"""Readers that cannot run here, in our words: what each makes of an environment. Read in their sources or machine code in
November 2026; each rule's comment names it."""


def torch(env):
    """PyTorch 2.11 to 2.15, symmetric memory over NVSHMEM (maybe_initialize_env_vars in libtorch_nvshmem.so; 2.15.0's
    step was run): copies what exists, whatever its value, where NVSHMEM's own variable does not."""
    env = dict(env)
    if "NCCL_SOCKET_IFNAME" in env:
        env.setdefault("NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", env["NCCL_SOCKET_IFNAME"])
    if "NCCL_IB_HCA" in env and "NVSHMEM_HCA_LIST" not in env:
        env["NVSHMEM_HCA_LIST"] = env["NCCL_IB_HCA"]
        env["NVSHMEM_ENABLE_NIC_PE_MAPPING"] = "1"
    if "NCCL_IB_GID_INDEX" in env:
        env.setdefault("NVSHMEM_IB_GID_INDEX", env["NCCL_IB_GID_INDEX"])
    return env


def tent(env):
    """Mooncake TENT's GID index (mooncake-transfer-engine/tent, May 2026): NCCL's beats the user's; text is the default."""
    index = env.get("MC_GID_INDEX", "-1")
    if "NCCL_IB_GID_INDEX" in env:
        text = env["NCCL_IB_GID_INDEX"]
        index = text if text.lstrip("-").isdigit() else "-1"
    return index


def vllm(env):
    """vLLM 0.33.0: a worker puts its own device in front of each variable that VLLM_NIC_SELECTION_VARS names."""
    env = dict(env)
    for name in filter(None, env.get("VLLM_NIC_SELECTION_VARS", "").split(",")):
        env[name] = "mlx5_2:1" + ("," + env[name] if env.get(name) else "")
    return env


def exact_names(hca_list, devices):
    """The devices that NCCL takes of a list (parseStringList, matchIf): a first = makes all names exact, else prefixes."""
    exact = hca_list.startswith("=")
    names = [entry.split(":")[0] for entry in hca_list.removeprefix("=").split(",") if entry]
    return {device for device in devices if any(device == name if exact else device.startswith(name) for name in names)}


def ncclx(env, name, default):
    """torchcomms' NCCLX (env2num, October 2025): an empty number is 0."""
    return int(env[name] or 0) if name in env else default


def launched(driver, worker):
    """Ray's runtime_env by vLLM 0.33.0, DeepSpeed, Horovod, Monarch: the driver's NCCL_* replace those of each worker."""
    return {**worker, **{name: value for name, value in driver.items() if name.startswith("NCCL_")}}
