# SPDX-License-Identifier: Apache-2.0
# The command line as a Debian package: `make deb`. Component `cli` is all that is installed.
include(GNUInstallDirs)
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
  GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(doc ${CMAKE_INSTALL_DATADIR}/doc/nccl-env)

install(TARGETS nccl-env RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT cli)
install(FILES ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/kubectl-nccl_env  # a link, and installed as such
  DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT cli)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/policies DESTINATION ${CMAKE_INSTALL_DATADIR}/nccl-env COMPONENT cli
  FILES_MATCHING PATTERN *.yaml)
install(FILES ${CMAKE_SOURCE_DIR}/packaging/copyright DESTINATION ${doc} COMPONENT cli)
install(FILES ${CMAKE_SOURCE_DIR}/CHANGELOG.md DESTINATION ${doc} RENAME changelog COMPONENT cli)

# Files that Debian wants to be there: manual pages and a changelog of the package, packed without names and times.
set(packaging ${CMAKE_BINARY_DIR}/packaging)
string(TIMESTAMP today "%a, %d %b %Y %H:%M:%S +0000" UTC)  # SOURCE_DATE_EPOCH's
set(NCCL_ENV_MAINTAINER "nccl-env maintainers <maintainers@nccl-env.invalid>" CACHE STRING
  "Whom to ask about the Debian package")
file(CONFIGURE OUTPUT ${packaging}/changelog.Debian CONTENT
  "nccl-env (@PROJECT_VERSION@-1) bookworm; urgency=medium\n\n  * Release @PROJECT_VERSION@.\n\n -- @NCCL_ENV_MAINTAINER@  @today@\n")
install(FILES ${packaging}/changelog.Debian DESTINATION ${doc} COMPONENT cli)
file(CONFIGURE OUTPUT ${packaging}/kubectl-nccl_env.1 CONTENT ".so man1/nccl-env.1\n")
install(FILES ${packaging}/kubectl-nccl_env.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT cli)
# SHELL FILE: the completion of a shell, where Debian's packages put it.
function(nccl_env_completion shell file)
  install(CODE "
    set(file \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/${file}\")
    get_filename_component(folder \"\${file}\" DIRECTORY)
    execute_process(COMMAND install -d -m 755 \"\${folder}\" COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} \$<TARGET_FILE:nccl-env> completion ${shell} OUTPUT_FILE \"\${file}\"
      COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND chmod 644 \"\${file}\" COMMAND_ERROR_IS_FATAL ANY)" COMPONENT cli)
endfunction()
nccl_env_completion(bash bash-completion/completions/nccl-env)
nccl_env_completion(fish fish/vendor_completions.d/nccl-env.fish)
install(CODE "
  set(root \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/packaging/man-page ${CMAKE_CROSSCOMPILING_EMULATOR} \$<TARGET_FILE:nccl-env>
    OUTPUT_FILE \${root}/${CMAKE_INSTALL_MANDIR}/man1/nccl-env.1 COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB pages \${root}/${CMAKE_INSTALL_MANDIR}/man1/*.1 \${root}/${doc}/changelog*)
  execute_process(COMMAND chmod 644 \${pages} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND gzip --best --no-name --force \${pages} COMMAND_ERROR_IS_FATAL ANY)" COMPONENT cli)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME nccl-env)
set(CPACK_PACKAGE_CONTACT ${NCCL_ENV_MAINTAINER})
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_SOURCE_DIR}/build/deb)
set(CPACK_INSTALL_CMAKE_PROJECTS ${CMAKE_BINARY_DIR} nccl_env cli /)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS ${CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS})
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE $ENV{DEB_HOST_ARCH})  # scripts/in-root sets it; if empty, that of this machine
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "kubectl | kubernetes-client")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "NCCL environment of RDMA nodes: look, explain and check
Tells what a node's RDMA fabric looks like from what show_gids or ibv_devinfo
print, which NCCL variables a pod gets on it under a policy and why not more,
what NCCL itself would choose, and what its log proves. With a cluster it
finds nodes that differ. It is a plugin of kubectl, too.")
include(CPack)
