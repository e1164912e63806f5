import { userInfo } from 'node:os'
import t from 'tap'
import { call, queriesOf, tasksOf } from '../e2e/support/client.ts'
import { sharedStack } from '../helpers/stack.ts'
import { environmentOf, tollgate } from './support/commands.ts'

const stack = await sharedStack(t)
const env = environmentOf(stack)
const run = (...args: readonly string[]) => tollgate(args, env)
const { tenantId } = stack.demo
const who = ['--tenant', tenantId, '--currency', 'CNY'] as const
const adjust = (amount: string, ...options: readonly string[]) =>
  run('credit', 'adjust', amount, ...who, '--reason', 'it was broken', ...options)
const balance = async () => {
  const { stdout } = await run('credit', 'balance', '--tenant', tenantId, '--json')
  const balances = JSON.parse(stdout) as { currency: string; credit: string; available: string }[]
  return balances.find(({ currency }) => currency === 'CNY')
}
interface Line {
  readonly line_id: string
  readonly amount: string
  readonly adjusted: string
}
const lines = async (token = stack.demo.queryToken): Promise<readonly Line[]> => {
  await stack.caughtUp()
  return (await queriesOf(stack.url, token).lines()).body.data.items
}

const tasks = tasksOf(stack.url, stack.demo.modelToken)
await tasks.reaches(await tasks.created(), 'succeeded')
const [line] = await lines()
if (line === undefined) throw new Error('nothing was settled')
const ofLine = ['--line', line.line_id] as const

t.test('an adjustment reaches the line, the balance and the history, once', async (t) => {
  t.match(line, { amount: '5.0094', adjusted: '0' })
  const posted = await adjust('1.50', ...ofLine, '--actor', 'Ada L.', '--json')
  t.equal(posted.code, 0, posted.stderr)
  const { adjustmentId } = JSON.parse(posted.stdout) as { adjustmentId: string }
  t.match(JSON.parse(posted.stdout), { posted: true, adjustmentId: /^adjustment_[0-9a-f]{32}$/ })
  const again = await adjust('1.5', ...ofLine, '--actor', 'Bob')
  t.equal(again.code, 0, 'as after a lost answer')
  t.match(again, { stdout: new RegExp(`adjustmentId: ${adjustmentId}\nposted: false`) })
  t.match(again.stderr, /already posted/)

  t.match(await lines(), [{ amount: '5.0094', adjusted: '1.5' }])
  const headers = { accept: 'text/csv' }
  const csv = await call(`${stack.url}/api/query/v1/ledger/lines`, {
    token: stack.demo.queryToken,
    headers,
  })
  t.match(csv.text, /,adjusted,account_prices,net,tags,end_user,.*\r?\n.*,1\.5,,3\.5094,,,/)
  const usage = await call(`${stack.url}/api/query/v1/usage?time_preset=24h&group_by=user`, {
    token: stack.demo.queryToken,
  })
  const net = { requests: 1, lines: 1, amount: '5.0094', refunded: '1.5', net: '3.5094' }
  t.match(usage.body.data, {
    totals: [net],
    items: [{ ...net, unit: 'token', quantity: '108900' }],
  })
  t.match(await balance(), { credit: '10001.5', available: '9996.4906' })
  const listed = await run('report', 'adjustments', '--tenant', tenantId)
  t.match(
    listed.stdout,
    new RegExp(
      `${adjustmentId} +${tenantId} +CNY +1\\.5 +${line.line_id}.* +it was broken +Ada L\\.`,
    ),
  )
  const replayed = await run('replay', '--tenant', tenantId)
  t.match(replayed.stdout, /AdjustmentPosted .*it was broken, by Ada L\.$/m)
  const { rows } = await stack.gateway.pool.query<{ actor: string }>(
    `select metadata->>'actor' as actor from timeline.events where type = 'AdjustmentPosted'`,
  )
  t.same(rows, [{ actor: 'Ada L.' }])
})

t.test('two adjustments at once stay within the line; the rest can still be given', async (t) => {
  const both = await Promise.all(
    ['a', 'b'].map((id) => adjust('2', ...ofLine, '--id', `together_${id}`)),
  )
  t.equal(both.filter(({ code }) => code === 0).length, 1)
  const refused = both.find(({ code }) => code === 1)
  t.match(
    refused?.stderr,
    /is 5\.0094 CNY with adjustments of 3\.5 so far.*from -3\.5 to 1\.5094$/m,
  )
  t.equal((await adjust('-3.5', ...ofLine)).code, 0, 'and taken back')
  t.match(await lines(), [{ adjusted: '0' }])
})

t.test('a mistaken grant is taken back, up to its amount', async (t) => {
  t.equal((await run('credit', 'grant', '1000', ...who, '--id', 'grant_typo')).code, 0)
  t.equal((await adjust('-900', '--grant', 'grant_typo')).code, 0)
  t.match(await adjust('-101', '--grant', 'grant_typo'), { code: 1, stderr: /from -100 to 900/ })
  t.match(await balance(), { credit: '10100' })
  t.match((await run('report', 'adjustments', '--tenant', tenantId)).stdout, /grant_typo/)
})

t.test('exit code 1 with a reason for lines of other tenants and currencies', async (t) => {
  const foreign = ['--tenant', stack.other.tenantId, '--currency', 'CNY', '--reason', 'x']
  const more = (...args: readonly string[]) => run('credit', 'adjust', ...args)
  const cases = [
    [1, more('1', ...foreign, ...ofLine), new RegExp(`${stack.other.tenantId} has no line`)],
    [1, adjust('1', '--line', 'call_none:1'), /the ledger has no line call_none:1/],
    [2, adjust('1', ...ofLine, '--grant', 'g'), /--line <line id> or --grant/],
    [2, more('1', ...who, ...ofLine), /--reason/],
    [2, more('1', ...who, ...ofLine, '--reason', ' '), /--reason must not be empty/],
    [2, adjust('1', ...ofLine, '--actor', ' '), /--actor must be a name/],
  ] as const
  for (const [code, running, why] of cases) {
    const ended = await running
    t.equal(ended.code, code)
    t.match(ended.stderr, why)
    t.notMatch(ended.stderr, /\n\s+at /)
  }
  t.match((await run('credit', 'adjust', '--help')).stdout, /--line[\s\S]*-1\.50[\s\S]*settled at/)
})

t.test('the actor is named: --actor, or else the operating-system user', async (t) => {
  const opened = await run('tenant', 'open', 'Named', '--id', 'tenant_named', '--json')
  const { userId } = JSON.parse(opened.stdout) as { userId: string }
  const user = ['--tenant', 'tenant_named', '--user', userId]
  const issued = await run('token', 'issue', ...user, '--kind', 'model', '--actor', 'Eve', '--json')
  const { tokenId } = JSON.parse(issued.stdout) as { tokenId: string }
  for (const args of [
    ['tenant', 'add-user', 'Second', '--tenant', 'tenant_named'],
    ['token', 'rotate', tokenId],
    ['token', 'limit', tokenId, '--rpm', '5'],
    ['token', 'disable', tokenId],
    ['credit', 'grant', '1', '--tenant', 'tenant_named', '--currency', 'USD'],
    ['credit', 'limit', '1', '--tenant', 'tenant_named', '--currency', 'USD'],
  ])
    t.equal((await run(...args, '--actor', 'Eve')).code, 0, args.join(' '))
  const { stdout } = await run('replay', '--tenant', 'tenant_named')
  const events = stdout.split('\n').filter((line) => /^\d{4}-\d\d-\d\d /.test(line))
  t.equal(events.length, 9)
  for (const event of events.slice(0, 2)) t.match(event, `by ${userInfo().username}`)
  for (const event of events.slice(2)) t.match(event, /\bby Eve$/)
})

t.test('the audit accepts an adjustment, and a rebuild is identical', async (t) => {
  await stack.caughtUp()
  t.match(await run('audit'), { code: 0, stdout: /^clean/ })
  t.match(await run('rebuild', 'ledger'), { code: 0, stdout: /ledger: swapped/ })
  t.match(await lines(), [{ adjusted: '0' }])
})
