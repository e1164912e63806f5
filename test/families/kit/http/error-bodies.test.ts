import t from 'tap'
import { readPlainFailure } from '../../../../src/families/kit/http/error-bodies.ts'
import { fromResponse } from '../../../../src/families/kit/http/refusals.ts'

/** What a caller's call becomes of an answer with this status and body. */
function refusalOf(status: number, body: unknown) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const error = readPlainFailure(typeof body === 'string' ? undefined : body, text)
  return fromResponse({ statusCode: status, headers: {} }, error, (message) => message)
}

t.test('a wrong key and an unknown model are the operator’s, whatever the status', async (t) => {
  const cases: readonly (readonly [number, unknown])[] = [
    [401, { error: { code: 401, message: 'Invalid API Key', type: 'authentication_error' } }],
    [400, { error: { message: 'Incorrect API key provided', type: 'invalid_request_error' } }],
    [400, { error: { message: 'Authentication Error, no key', type: 'auth_error', code: '401' } }],
    [400, { error: { message: 'no', type: 'None', param: 'None', code: '401' } }],
    [400, { error: { message: 'Invalid model name passed in model=a', code: '400' } }],
    [400, { error: { message: 'no such thing', param: 'model', code: 400 } }],
    [400, { detail: 'Model a does not exist' }],
    [400, { object: 'error', message: 'The model `a` does not exist.', code: 404 }],
    [400, { detail: [{ loc: ['body', 'model'], msg: 'unknown', type: 'value_error' }] }],
    [400, 'unknown model a'],
    [500, { error: { message: 'key', code: 401 } }],
    [404, { detail: 'Not Found' }],
    [403, ''],
  ]
  for (const [status, body] of cases)
    t.match(
      refusalOf(status, body),
      { kind: 'account', acceptance: 'ruled_out' },
      `${status} ${JSON.stringify(body)}`,
    )
})

t.test('a caller’s mistake is the caller’s, however its server says so', async (t) => {
  const tooLong = "This model's maximum context length is 4096 tokens"
  const cases: readonly (readonly [number, unknown, object])[] = [
    [400, { error: { message: tooLong, param: 'messages' } }, { message: tooLong }],
    [400, { detail: tooLong }, { message: tooLong, param: undefined }],
    [
      422,
      {
        detail: [{ loc: ['body', 'messages', 0, 'role'], msg: 'Field required', type: 'missing' }],
      },
      { message: 'Field required', param: 'messages[0].role' },
    ],
    [
      400,
      { detail: { error: { message: 'bad', param: 'tools' } } },
      { message: 'bad', param: 'tools' },
    ],
    [400, { message: 'bad tools', code: 400 }, { message: 'bad tools' }],
    [400, 'messages must not be empty', { message: 'messages must not be empty' }],
    [400, '<html><body>400</body></html>', { message: '' }],
    [400, { error: { message: 'Model output names a tool that was not found' } }, {}],
    [
      500,
      { error: { message: 'bad grammar', code: 400 } },
      { status: 400, message: 'bad grammar' },
    ],
    [500, { error: { message: 'no', type: 'invalid_request_error' } }, { status: 400 }],
  ]
  for (const [status, body, said] of cases)
    t.match(
      refusalOf(status, body),
      { kind: 'invalid', acceptance: 'ruled_out', ...said },
      `${status} ${JSON.stringify(body)}`,
    )
})

t.test('other failures keep their meaning', async (t) => {
  t.match(refusalOf(500, { error: { message: 'x', type: 'server_error' } }), {
    kind: 'unavailable',
  })
  t.match(refusalOf(500, { error: { message: 'x', code: 429 } }), { kind: 'rate_limited' })
  t.match(refusalOf(503, 'Service Unavailable'), { kind: 'unavailable' })
})
