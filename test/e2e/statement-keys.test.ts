import t from 'tap'
import { Pool } from 'pg'
import { replaceSecret } from '../../src/app/access/secret-agreement.ts'
import { addUser, issueToken, openTenant } from '../../src/app/accounts/account-commands.ts'
import { grantCredit } from '../../src/app/accounts/credit.ts'
import { setIssuer } from '../../src/app/finance/statements/issuer.ts'
import { statementSigner } from '../../src/app/finance/statements/key.ts'
import { toTimestamp } from '../../src/kernel/clock.ts'
import { createMonthFolder } from '../cli/verify/support/month-files.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { call } from './support/client.ts'
import { settlePastWeeks } from './support/past-weeks.ts'

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

const now = new Date()
const monthStart = (further: number): number =>
  Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + further, 1)
const [earlier, later] = [-2, -1].map((further) => toTimestamp(monthStart(further)).slice(0, 7))

t.test(
  'another secret signs later months, and earlier ones keep their key and their bytes',
  async (t) => {
    const folder = createMonthFolder()
    t.teardown(() => folder.remove())
    const tenantId = 'acme'
    const past = { ...stack.access, clock: { nowMs: () => monthStart(-2) + 60_000 } }
    await openTenant(past, { tenantId, name: 'Acme' })
    await addUser(past, { tenantId, userId: 'ann', name: 'Ann' })
    const ann = { tenantId, userId: 'ann' }
    const scope = { level: 'all_users' } as const
    const reports = { ...ann, kind: 'query', name: 'reports', scope } as const
    const { tokenId, secret: token } = await issueToken(past, reports)
    await grantCredit(past, { tenantId, currency: 'USD', amount: '1000', reason: 'bank transfer' })
    await settlePastWeeks(stack.access.log, { ...ann, tokenId }, monthStart(0), 40)
    const wanted = { legalName: 'Tollgate GmbH', address: ['Weg 2'], country: 'DE' }
    await setIssuer(past, { wanted })
    await stack.caughtUp()

    const { adminToken } = stack.demo
    const send = async (method: string, url: string, body: object) => {
      const answer = await call(url, {
        method,
        token: adminToken,
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      })
      t.equal(answer.status, 200, answer.text)
    }
    const tenant = `/api/admin/tenants/${tenantId}`
    const profile = {
      legal_name: 'Acme',
      address: ['Weg 1'],
      country: 'DE',
      number_prefix: 'ACME',
      grace_hours: 0,
    }
    await send('PUT', `${stack.url}${tenant}/billing`, profile)
    const close = (url: string, month = '') =>
      send('POST', `${url}${tenant}/periods`, {
        month,
        currency: 'USD',
        despite: ['audit_old'],
        reason: 'the audit runs tonight',
      })
    const filesOf = async (url: string, month = '') => {
      // Lines of JSON are not one JSON text.
      const get = async (path: string) => {
        const headers = { authorization: `Bearer ${token}` }
        return (await fetch(`${url}/api/query/v1${path}`, { headers })).text()
      }
      const postings = await get(`/periods/${month}/postings?currency=USD`)
      const [word, lineId] = JSON.parse(
        postings.trim().split('\n').at(-1) ?? '',
      ) as readonly string[]
      t.equal(word, 'line')
      return {
        statement: await get(`/periods/${month}/statement?currency=USD`),
        postings,
        proof: await get(`/ledger/lines/${lineId}/proof`),
      }
    }
    const keysAt = async (url: string) => (await call(`${url}${PATH}`)).text.trim().split('\n')

    await close(stack.url, earlier)
    const before = await filesOf(stack.url, earlier)
    const [oldKey = ''] = await keysAt(stack.url)
    t.equal(folder.verify(before, oldKey).why, undefined)

    await stack.gateway.stop()
    const markerSecret = 'another marker secret of the tests'
    const pool = new Pool({ connectionString: stack.databaseUrl, max: 1 })
    await replaceSecret(pool, markerSecret)
    await pool.end()
    const { url } = await stack.replica(undefined, { markerSecret })
    const newKey = statementSigner('gateway.example', markerSecret).vkey
    const keys = await eventually('the second key', async () => {
      const found = await keysAt(url)
      return found.length > 1 ? found : undefined
    })
    t.same(keys, [oldKey, newKey])
    t.same(await filesOf(url, earlier), before, 'nothing of the earlier month has changed')

    await close(url, later)
    const after = await filesOf(url, later)
    t.equal(folder.verify(after, newKey).why, undefined)
    t.match(folder.verify(after, oldKey).why, /key/)
    t.match(folder.verify(before, newKey).why, /key/)
    t.same(await filesOf(url, earlier), before)
  },
)
