import t from 'tap'
import { responseView } from '../../../../src/families/responses/upstream/convert.ts'
import {
  noTools,
  responsesUsage,
  toolCounts,
} from '../../../../src/families/responses/upstream/convert.ts'

t.test('tool calls are counted from finished output items', async (t) => {
  t.same(
    toolCounts([
      { type: 'web_search_call', status: 'completed', action: { type: 'search' } },
      { type: 'web_search_call', status: 'completed', action: { type: 'open_page' } },
      { type: 'web_search_call', status: 'failed', action: { type: 'search' } },
      { type: 'web_search_call' },
      { type: 'file_search_call', status: 'completed' },
      { type: 'file_search_call', status: 'in_progress' },
      { type: 'code_interpreter_call', status: 'completed', container_id: 'a' },
      { type: 'code_interpreter_call', status: 'completed', container_id: 'a' },
      { type: 'code_interpreter_call', status: 'completed', container_id: 'b' },
      { type: 'function_call', status: 'completed' },
    ]),
    { 'web-search-call': 2, 'file-search-call': 1, 'code-interpreter-session': 2 },
  )
})

t.test('usage by unit, with the cache taken out of the input', async (t) => {
  t.match(
    responsesUsage(
      { input_tokens: 21, output_tokens: 5, input_tokens_details: { cached_tokens: 6 } },
      { ...noTools, 'web-search-call': 2 },
    ).usage,
    { input: 15, 'cached-input': 6, output: 5, 'web-search-call': 2 },
  )
  t.equal(responsesUsage(null, noTools).usage, undefined)
  t.match(responsesUsage({ input_tokens: 1 }, noTools), {
    usage: { input: 1, output: 0 },
    notes: [{ what: 'output', why: 'missing' }],
  })
})

t.test('a response is shown with the external model, tool counts and function calls', async (t) => {
  const call = { type: 'function_call', name: 'f' }
  const view = responseView(
    {
      model: 'up-1',
      output: [{ type: 'message' }, call],
      error: { code: 'server_error', message: 'up-1 is down' },
      usage: {
        input_tokens: 1,
        output_tokens: 1,
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      },
    },
    { model: 'ours', keptId: (kind, id) => `${kind}_our-${id}` },
    { ...noTools, 'file-search-call': 1 },
    (message) => message.replace('up-1', 'ours'),
  )
  t.same(view, {
    model: 'ours',
    output: [{ type: 'message' }, call],
    error: { code: 'server_error', message: 'ours is down' },
    usage: {
      input_tokens: 1,
      output_tokens: 1,
      input_tokens_details: { cached_tokens: 0 },
      server_tool_usage: { file_search_calls: 1 },
    },
    tool_calls: [call],
  })
})
