import t from 'tap'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { statementSigner } from '../../src/app/finance/statements/key.ts'
import { call } from './support/client.ts'

/** Verifiers take the public key of statements from a gateway, without a token. */

const stack = await startStack({ env: { PUBLIC_BASE_URL: 'https://gateway.example' } })
t.teardown(() => stack.stop())
const PATH = '/.well-known/tollgate-statement-keys'

t.test('a start publishes its key, which every replica shows, once', async (t) => {
  const { url: second } = await stack.replica(['api'])
  const keys = await eventually('the key', async () => {
    const { text } = await call(`${second}${PATH}`)
    return text === '' ? undefined : text
  })
  t.match(keys, /^gateway\.example\/statements\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}\n$/)
  t.match(
    await eventually('it is on the first', async () => {
      const answer = await call(`${stack.url}${PATH}`)
      return answer.text === '' ? undefined : answer
    }),
    { status: 200, text: keys },
  )
  const headers = (await call(`${stack.url}${PATH}`)).headers
  t.equal(headers.get('content-type'), 'text/plain; charset=utf-8')
  const events = await stack.access.log.readStream('issuer')
  t.match(events, [{ type: 'StatementKeyPublished', data: { vkey: keys.trim() } }])
  t.equal(events.length, 1)
  t.not(keys.trim(), statementSigner('gateway.example', 'another secret').vkey)
})

t.test('another method is refused', async (t) => {
  t.equal((await call(`${stack.url}${PATH}`, { method: 'POST' })).status, 405)
})
