import t from 'tap'
import { asModel } from '../../../api/support/app.ts'
import { startText } from '../../../api/v1/support.ts'
import { passedHeaders } from '../../../../src/families/messages/surface/headers.ts'

const { app, texts, post } = await startText(t)
const path = '/v1/messages'
const good = {
  model: 'text-basic',
  max_tokens: 64,
  messages: [{ role: 'user', content: 'Hello' }],
}
texts.answer = () => ({ type: 'message', id: 'msg_1', content: [] })

const said = (blocks: readonly object[]) => ({
  ...good,
  messages: [{ role: 'user', content: blocks }],
})

t.test('400 names the member at fault, and nothing is sent', async (t) => {
  const before = texts.calls.length
  const faults: readonly (readonly [body: object, param: string])[] = [
    [{ ...good, max_tokens: 0 }, 'max_tokens'],
    [{ ...good, max_tokens: '5' }, 'max_tokens'],
    [{ ...good, max_tokens: 2 ** 53 }, 'max_tokens'],
    [{ model: 'text-basic', messages: good.messages }, 'max_tokens'],
    [{ ...good, messages: [] }, 'messages'],
    [{ ...good, messages: undefined }, 'messages'],
    [{ ...good, messages: [{ role: 'user' }] }, 'messages[0].content'],
    [{ ...good, workspace_id: 'wrkspc_1' }, 'workspace_id'],
    [{ ...good, billing_policy: { mode: 'x' } }, 'billing_policy'],
    [{ ...good, thread: 'thread_1' }, 'thread'],
    [{ ...good, container: 'container_1' }, 'container'],
    [{ ...good, diagnostics: { previous_message_id: 'msg_1' } }, 'diagnostics.previous_message_id'],
    [
      { ...good, container: { skills: [{ type: 'custom', skill_id: 'skill_1' }] } },
      'container.skills[0].skill_id',
    ],
    [
      said([{ type: 'document', source: { type: 'file', file_id: 'file_1' } }]),
      'messages[0].content[0].source.file_id',
    ],
    [
      said([
        {
          type: 'tool_result',
          tool_use_id: 'toolu_1',
          content: [
            { type: 'tool_result', content: [{ type: 'image', source: { file_id: 'file_1' } }] },
          ],
        },
      ]),
      'messages[0].content[0].content[0].content[0].source.file_id',
    ],
    // Only the use of a tool has names that mean nothing.
    [
      said([{ type: 'text', input: { file_id: 'file_1' } }]),
      'messages[0].content[0].input.file_id',
    ],
    [said([{ type: 'container_upload', file_id: 'file_1' }]), 'messages[0].content[0].file_id'],
    [{ ...good, tools: [{ type: 'code_execution_20250825', name: 'code' }] }, 'tools[0].type'],
    [{ ...good, tools: [{ type: 'advisor_20260301', name: 'advisor' }] }, 'tools[0].type'],
  ]
  for (const [body, param] of faults) {
    const answer = await post(path, body)
    t.match(
      { status: answer.statusCode, body: answer.json() },
      {
        status: 400,
        body: {
          type: 'error',
          error: { type: 'invalid_request_error', details: { param } },
          request_id: /^req_/,
        },
      },
      `${param}: ${answer.body}`,
    )
    t.equal(answer.headers['request-id'], answer.headers['x-request-id'])
  }
  t.equal(texts.calls.length, before)
})

t.test('what is the caller’s own, or costs tokens only, is taken', async (t) => {
  const bodies: readonly object[] = [
    said([{ type: 'tool_use', id: 'toolu_1', name: 'a', input: { file_id: 'file_1' } }]),
    { ...good, tools: [{ name: 'a', input_schema: { default: { container: 'x' } } }] },
    { ...good, tools: [{ name: 'a', type: 'custom', input_schema: {} }] },
    { ...good, tools: [{ type: 'bash_20250124', name: 'bash' }] },
    { ...good, tools: [{ type: 'mcp_toolset', mcp_server_name: 'docs' }] },
    { ...good, tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
    { ...good, context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } },
    { ...good, thinking: { type: 'enabled', budget_tokens: 1_024 }, metadata: { user_id: 'u' } },
    { ...good, mcp_servers: [], a_new_member: { of: 'a release' } },
    { ...good, system: [{ type: 'text', text: 'Be short', cache_control: { type: 'ephemeral' } }] },
  ]
  for (const body of bodies) {
    const answer = await post(path, body)
    t.equal(answer.statusCode, 200, `${JSON.stringify(body)}: ${answer.body}`)
  }
})

t.test('headers of the wire go on; those that choose the payer are refused', async (t) => {
  const beta = 'claude-code-20250219,context-management-2025-06-27'
  const passed = { 'anthropic-beta': beta, 'anthropic-version': '2026-10-21' }
  t.same(passedHeaders({ headers: { ...passed, other: 'x' } }), passed)
  t.equal((await post(path, good, passed)).statusCode, 200)
  const many = Object.fromEntries(
    Array.from({ length: 17 }, (_none, at) => [`anthropic-x-${at}`, 'x']),
  )
  for (const headers of [
    { 'anthropic-workspace-id': 'wrkspc_1' },
    { 'anthropic-user-profile-id': 'user_1' },
    { 'anthropic-beta': 'x'.repeat(4_097) },
    many,
  ]) {
    const answer = await post(path, good, headers)
    t.match(answer.json(), {
      error: { type: 'invalid_request_error', details: { param: /^anthropic-/ } },
    })
  }
  t.throws(() => passedHeaders({ headers: { 'anthropic-beta': 'a\u0000b' } }), /printable ASCII/)
})

t.test('failures have this wire’s shape before a route is found, too', async (t) => {
  const inject = (options: object) => app.inject({ method: 'POST', url: path, ...options })
  const json = { 'content-type': 'application/json' }
  for (const [options, status, type] of [
    [{ headers: json, payload: good }, 401, 'authentication_error'],
    [
      { headers: { 'x-api-key': 'sk-nobody', ...json }, payload: good },
      401,
      'authentication_error',
    ],
    [{ headers: { ...asModel, ...json }, payload: '{"model":' }, 400, 'invalid_request_error'],
    [{ headers: { ...asModel, ...json }, payload: '' }, 400, 'invalid_request_error'],
    [{ headers: asModel, payload: 'hello' }, 415, 'invalid_request_error'],
    [{ method: 'GET', headers: asModel }, 405, 'invalid_request_error'],
    [{ url: '/v1/messages/nope', headers: asModel }, 404, 'not_found_error'],
    [{ url: '/v1/messages/batches', headers: asModel }, 404, 'not_found_error'],
  ] as const) {
    const answer = await inject(options)
    t.match(
      { status: answer.statusCode, body: answer.json() },
      { status, body: { type: 'error', error: { type }, request_id: /^req_/ } },
      answer.body,
    )
    t.match(answer.headers['request-id'], /^req_/)
  }
  const batches = await inject({ url: '/v1/messages/batches', headers: asModel })
  t.match(batches.json(), { error: { details: { error_code: 'not_offered' } } })
})
