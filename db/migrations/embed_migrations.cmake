# The migrations become part of the binary, so that a service never looks for them at run time.
set(RAILWEAVE_MIGRATIONS ${CMAKE_CURRENT_LIST_DIR})
function(railweave_embed_migrations target store)
  set(folder ${RAILWEAVE_MIGRATIONS}/${store})
  set(script ${RAILWEAVE_MIGRATIONS}/embed.cmake)
  file(GLOB migrations CONFIGURE_DEPENDS ${folder}/V*.sql)
  set(embedded ${CMAKE_CURRENT_BINARY_DIR}/embedded_migrations.cc)
  add_custom_command(
    OUTPUT ${embedded}
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${folder} -DSTORE=${store} -DOUTPUT=${embedded} -P ${script}
    DEPENDS ${migrations} ${script}
    COMMENT "Embedding the migrations of ${store}"
    VERBATIM)
  target_sources(${target} PRIVATE ${embedded})
endfunction()
