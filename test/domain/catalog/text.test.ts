import t from 'tap'
import { isTextModelName, offeredTools } from '../../../src/domain/catalog/text.ts'

t.test('a model name fits into SKUs and paths', async (t) => {
  for (const name of ['text-basic', 'gen-3-pro-preview-file', 'A.b_c-1'])
    t.ok(isTextModelName(name))
  for (const name of ['', '-a', 'a b', 'a/b', 'a:b', 'a'.repeat(129)])
    t.notOk(isTextModelName(name))
})

t.test('metered tools are found on every wire, functions are not among them', async (t) => {
  t.same(offeredTools({}), [])
  t.same(offeredTools({ tools: 'web_search' }), [])
  t.same(
    offeredTools({
      tools: [
        null,
        { type: 'function', name: 'web_search_of_mine' },
        { type: 'web_search_preview_2025_03_11' },
        { type: 'web_search' },
        { type: 'code_interpreter', container: {} },
        { type: 'file_search' },
      ],
    }),
    ['web-search', 'code-interpreter', 'file-search'],
  )
  t.same(offeredTools({ tools: [{ googleSearch: {} }] }), ['web-search'])
  t.same(offeredTools({ tools: [{ fileSearch: {} }] }), ['file-search'])
  t.same(offeredTools({ tools: [{ functionDeclarations: [] }, { codeExecution: {} }] }), [])
})
