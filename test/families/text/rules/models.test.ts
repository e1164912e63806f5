import {
  isTextModelName,
  offeredTools,
  type TextWireRules,
  toolCharges,
  vectorStoresOf,
} from '../../../../src/families/text/rules/wire.ts'
import { wires } from '../wires.ts'
import t from 'tap'

t.test('a model name fits into SKUs and paths', async (t) => {
  for (const name of ['text-basic', 'gen-3-pro-preview-file', 'A.b_c-1'])
    t.ok(isTextModelName(name))
  for (const name of ['', '-a', 'a b', 'a/b', 'a:b', 'a'.repeat(129)])
    t.notOk(isTextModelName(name))
})

t.test('metered tools are found on every wire, functions are not among them', async (t) => {
  for (const family of Object.values(wires)) {
    t.same(offeredTools(family, {}), [])
    t.same(offeredTools(family, { tools: 'web_search' }), [])
    t.same(offeredTools(family, { tools: [null, 7] }), [])
  }
  t.same(
    offeredTools(wires.responses, {
      tools: [
        { type: 'function', name: 'web_search_of_mine' },
        { type: 'web_search_preview_2025_03_11' },
        { type: 'web_search' },
        { type: 'code_interpreter', container: {} },
        { type: 'file_search' },
      ],
    }),
    ['web-search', 'code-interpreter', 'file-search'],
  )
  for (const tool of ['googleSearch', 'googleSearchRetrieval', 'enterpriseWebSearch'])
    t.same(offeredTools(wires.native, { tools: [{ [tool]: {} }] }), ['web-search'], tool)
  const both = { functionDeclarations: [], googleSearch: {}, type: 'x' }
  t.same(offeredTools(wires.native, { tools: [both] }), ['web-search'])
  t.same(offeredTools(wires.native, { tools: [{ googleSearch: null }, { codeExecution: {} }] }), [])
})

t.test('a chat requests a search in a member, or as a tool', async (t) => {
  t.same(offeredTools(wires.chat, { web_search_options: {} }), ['web-search'])
  t.same(offeredTools(wires.chat, { tools: [{ type: 'web_search' }] }), ['web-search'])
  t.same(offeredTools(wires.chat, { web_search_options: null }), [])
  t.same(offeredTools(wires.responses, { web_search_options: {} }), [])
})

t.test('a tool is free, metered, or unmetered and then refused', async (t) => {
  const charge = (family: Parameters<typeof toolCharges>[0], tool: object) =>
    toolCharges(family, { ...tool }).map(({ member, charge: is }) => `${member} ${is}`)
  const ofType = (family: TextWireRules, type: string) => charge(family, { type })[0]
  for (const type of ['function', 'custom', 'mcp', 'local_shell', 'computer_use_preview'])
    t.equal(ofType(wires.responses, type), 'type tokens', type)
  for (const type of ['image_generation', 'shell', 'functions', 'x', ''])
    t.equal(ofType(wires.responses, type), 'type unmetered', type)
  t.same(charge(wires.responses, { type: 'shell', environment: { type: 'local' } }), [
    'type tokens',
  ])
  const hosted = { type: 'shell', environment: { type: 'container_auto' } }
  t.same(charge(wires.responses, hosted), ['type unmetered'])
  t.equal(ofType(wires.chat, 'function'), 'type tokens')
  // Nothing on the chat wire would count these.
  for (const type of ['code_interpreter', 'file_search', 'builtin_function', 'mcp'])
    t.equal(ofType(wires.chat, type), 'type unmetered', type)
  t.same(charge(wires.native, { urlContext: {}, codeExecution: {}, computerUse: {} }), [
    'urlContext tokens',
    'codeExecution tokens',
    'computerUse tokens',
  ])
  t.same(charge(wires.native, { FileSearch: {}, FILESearch: {} }), [
    'FileSearch unmetered',
    'FILESearch unmetered',
  ])
  t.same(charge(wires.native, { googleMaps: {}, fileSearch: {}, retrieval: {}, type: 'x' }), [
    'googleMaps unmetered',
    'fileSearch unmetered',
    'retrieval unmetered',
    'type unmetered',
  ])
})

t.test('the vector stores that a request searches, and their path', async (t) => {
  const search = (...ids: string[]) => ({ type: 'file_search', vector_store_ids: ids })
  t.equal(vectorStoresOf({}), undefined)
  t.equal(vectorStoresOf({ tools: [{ type: 'file_search' }, search()] }), undefined)
  t.same(vectorStoresOf({ tools: [{ type: 'mcp' }, search('a', 'b'), search('c')] }), {
    ids: ['a', 'b', 'c'],
    path: 'tools[1].vector_store_ids',
  })
})
