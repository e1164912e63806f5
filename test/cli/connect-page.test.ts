import { LLMock } from '@copilotkit/aimock'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { eventually } from '../helpers/eventually.ts'
import { pageText, printedCalls } from '../helpers/printed-calls.ts'
import { removeFolder } from '../helpers/remove-folder.ts'
import { serve, shell } from './support/tollgate.ts'

/** `docs/connect.md`, step by step, with a server that this repository did not write. */

const ANSWER = 'Hi there, how are you today?'
function serverAt(port: number): LLMock {
  const made = new LLMock({ port })
  made.onMessage('hello', { content: ANSWER })
  return made
}
let server = serverAt(0)
const serverUrl = await server.start()
t.teardown(() => server.stop())
const folder = await mkdtemp(join(tmpdir(), 'tollgate-connect-'))
t.teardown(() => removeFolder(folder))

const PRINTED_SERVER = 'http://127.0.0.1:8000/v1'
const [preface = '', naming = '', pricing = '', , calling = ''] = pageText('docs/connect.md')
  .replaceAll(PRINTED_SERVER, `${serverUrl}/v1`)
  .split('\n## ')

const prepared = await shell(printedCalls(preface + naming + pricing, ''), folder)
const gateway = await serve(join(folder, 'data'), {
  CHANNELS_FILE: join(folder, 'channels.yaml'),
  PRICEBOOK_FILE: join(folder, 'prices.yaml'),
})
t.teardown(() => gateway.end('SIGKILL'))
const { baseUrl, modelToken } = gateway.demo

/** Asks the gateway, and gives the answer with what the call cost. */
async function ask(members: object) {
  const answer = await fetch(`${baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${modelToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'own-text',
      messages: [{ role: 'user', content: 'hello' }],
      ...members,
    }),
  })
  return {
    status: answer.status,
    callId: answer.headers.get('x-call-id') ?? '',
    text: await answer.text(),
  }
}

/** What was billed of a call: quantity and measurement by line. */
async function billed(callId: string): Promise<readonly string[]> {
  const headers = { authorization: `Bearer ${modelToken}` }
  const receipt = await eventually('the receipt', async () => {
    const answer = await fetch(`${baseUrl}/v1/receipts/${callId}`, { headers })
    return answer.ok ? ((await answer.json()) as { lines: readonly Line[] }) : undefined
  })
  return receipt.lines.map((line) => `${line.sku} ${line.quantity} ${line.measurement}`)
}

interface Line {
  readonly sku: string
  readonly quantity: number
  readonly measurement: string
}

/** What the server counts for the call of these tests, which it says in every answer. */
const COUNTED = ['own-text-input-token 2 reported', 'own-text-output-token 7 reported']

t.test('the steps of the page lead to a receipt of what the server counted', async (t) => {
  t.equal(prepared.code, 0, prepared.stdout)
  t.match(prepared.stdout, /"prompt_tokens":2,"completion_tokens":7/)
  t.match(prepared.stdout, /own-text-input-token[^]*own-text-output-token/, 'prices are missing')
  t.match(prepared.stdout, /channel own-chat: chat at [^]*models own-text/)
  const called = await shell(printedCalls(calling, baseUrl), folder)
  t.equal(called.code, 0, called.stdout)
  t.match(called.stdout, new RegExp(ANSWER.replace('?', '\\?')))
  t.match(called.stdout, /x-cost: 0\.000003/)
  t.match(called.stdout, /"quantity":2[^]*"quantity":7/)
})

t.test('whole and streamed, every line is the server’s own count', async (t) => {
  for (const members of [
    {},
    { stream: true },
    { stream: true, stream_options: { include_usage: true } },
  ]) {
    const { status, callId, text } = await ask(members)
    t.equal(status, 200, text)
    t.equal(
      text.includes('"completion_tokens":7'),
      !('stream' in members) || 'stream_options' in members,
    )
    t.same(await billed(callId), COUNTED)
  }
})

t.test('a bound that the server ignores gives nothing away', async (t) => {
  const { callId, text } = await ask({ max_completion_tokens: 2 })
  t.match(text, ANSWER)
  t.same(await billed(callId), COUNTED)
  t.match(server.getLastRequest()?.body, {
    max_tokens: 2,
    max_completion_tokens: undefined,
    stream: false,
  })
  t.match(await ask({ n: 2 }), { status: 400, text: /`n` must be at most 1/ })
  t.match(await ask({ n_predict: 220 }), { status: 400, text: /`n_predict`/ })
})

t.test('a refused key is the operator’s mistake, and is shown', async (t) => {
  server.nextRequestError(400, {
    message: 'Incorrect API key provided',
    type: 'invalid_request_error',
  })
  const { status, text } = await ask({})
  t.equal(status, 503, text)
  t.notMatch(text, /API key/)
  const degraded = async () => {
    const { degraded } = (await (await fetch(`${baseUrl}/readyz`)).json()) as { degraded: string[] }
    return degraded.join()
  }
  await eventually('it is shown', async () =>
    (await degraded()).includes('channels: own-chat (own-text) is refused with 400')
      ? true
      : undefined,
  )
  t.ok(gateway.log.some((line) => line.includes('a channel refused the key')))
  t.equal((await ask({})).status, 200)
  await eventually('it works again', async () => ((await degraded()) === '' ? true : undefined))
})

t.test('a server that is away is not paid, and serves again without more', async (t) => {
  const { port } = new URL(serverUrl)
  await server.stop()
  t.match(await ask({}), { status: 502, text: /could not be reached/ })
  server = serverAt(Number(port))
  await server.start()
  const { callId } = await eventually('it answers', async () => {
    const answer = await ask({})
    return answer.status === 200 ? answer : undefined
  })
  t.same(await billed(callId), COUNTED)
})
