import t from 'tap'
import { addUser, issueToken } from '../../src/app/accounts/account-commands.ts'
import { call } from '../e2e/support/client.ts'
import { sharedStack } from '../helpers/stack.ts'
import { environmentOf, tollgate } from './support/commands.ts'

/** A shell proposes and rejects; another user approves over HTTP. */

const stack = await sharedStack(t)
const env = environmentOf(stack)
const { tenantId } = stack.demo
const run = (...args: readonly string[]) => tollgate([...args, '--tenant', tenantId], env)
const grant = (id: string, amount: string) =>
  run('credit', 'grant', amount, '--currency', 'USD', '--id', id, '--json')
const approvals = (...args: readonly string[]) => run('approvals', ...args)
interface Listed {
  readonly proposalId: string
  readonly state: string
  readonly posting: { readonly amount: string }
}
const listed = async (...args: readonly string[]): Promise<readonly Listed[]> =>
  JSON.parse((await run('credit', 'proposals', '--json', ...args)).stdout) as readonly Listed[]

t.test('the limits are set one by one, and shown', async (t) => {
  const set = await approvals('set', '--currency', 'USD', '--above', '100')
  t.equal(set.code, 0, set.stderr)
  t.match(set.stdout, /above: 100 USD\nproposals lapse after 72 h/)
  t.equal((await approvals('set', '--lapse-hours', '24')).code, 0)
  t.equal((await approvals('set', '--currency', 'CNY', '--above', '900000')).code, 0)
  t.match(JSON.parse((await approvals('show', '--json')).stdout), {
    revision: 3,
    limits: [
      { currency: 'USD', above: '100' },
      { currency: 'CNY', above: '900000' },
    ],
    lapseHours: 24,
  })
  for (const wrong of [
    ['--currency', 'USD'],
    ['--lapse-hours', '721'],
    ['--lapse-hours', '1.5'],
    [],
  ])
    t.equal((await approvals('set', ...wrong)).code, 2, wrong.join(' '))
  t.equal((await approvals('set', '--currency', 'USD', '--above', '-1')).code, 1)
})

t.test('a shell only proposes higher limits and lower prices', async (t) => {
  const prices = (...args: readonly string[]) => run('prices', 'account', ...args)
  for (const command of [
    () => approvals('set', '--currency', 'CNY', '--above', 'none', '--json'),
    () => prices('set', '--multiplier', '0', '--json'),
  ]) {
    const proposed = await command()
    t.match(proposed, { code: 0, stderr: /gives nothing until another user approves it: POST/ })
    const { proposalId } = JSON.parse(proposed.stdout) as Listed
    const again = await command()
    t.match(again, { code: 0, stderr: /already proposed/ })
    t.equal((JSON.parse(again.stdout) as Listed).proposalId, proposalId)
  }
  const table = (await run('credit', 'proposals')).stdout
  t.match(table, /proposed +prices .* shell .* list × 0, 0 own prices \(1\) instead of list prices/)
  t.match(table, /approvals .* above 100 USD, for 24 h \(4\) instead of above 100 USD, 900000 CNY/)
  t.match((await prices('set', '--multiplier', '1.2')).stdout, /list prices × 1.2/)
  t.match(JSON.parse((await prices('show', '--json')).stdout), { revision: 1, multiplier: '1.2' })
  for (const { proposalId } of await listed())
    t.equal((await run('credit', 'reject', proposalId, '--reason', 'a trial')).code, 0)
})

t.test('a shell proposes above the limit, and another user approves it over HTTP', async (t) => {
  const { tenantId: home } = stack.other
  await addUser(stack.access, { tenantId: home, userId: 'approver', name: 'Approver' })
  const { secret } = await issueToken(stack.access, {
    tenantId: home,
    userId: 'approver',
    kind: 'admin',
    name: 'approver',
    scope: { level: 'all_tenants' },
  })
  // The tenant got all its credit from a shell, in this very day.
  const proposed = await grant('large', '101')
  t.equal(proposed.code, 0, proposed.stderr)
  const { proposalId } = JSON.parse(proposed.stdout) as Listed
  t.match(JSON.parse(proposed.stdout), { grantId: 'large', state: 'proposed', expiresAt: /Z$/ })
  t.match(proposed.stderr, new RegExp(`gives nothing until .*${proposalId}/approve`))
  t.match(await grant('large', '101'), { code: 0, stdout: new RegExp(proposalId) }, 'a repetition')
  t.match(await listed('--state', 'proposed'), [
    { proposalId, state: 'proposed', posting: { amount: '101' } },
  ])
  const table = await run('credit', 'proposals', '--state', 'proposed')
  t.match(table.stdout, new RegExp(`${proposalId} +proposed +grant +101 +USD +shell`))
  t.match((await tollgate(['credit', 'reject', '--help'], env)).stdout, /cannot approve one/)

  await stack.caughtUp()
  const path = `/api/admin/tenants/${tenantId}/proposals/${proposalId}/approve`
  const done = await call(`${stack.url}${path}`, { method: 'POST', token: secret })
  t.match(done.body.data, { state: 'approved', changed: true }, done.text)
  const again = await grant('large', '101')
  t.match(again, { code: 0, stdout: /"grantId": ?"large"/ })
  t.notMatch(again.stdout, /proposalId/, 'it is posted')
})

t.test('a shell rejects a proposal, once', async (t) => {
  const { proposalId } = JSON.parse((await grant('wrong', '500')).stdout) as Listed
  const reject = (reason: string) => run('credit', 'reject', proposalId, '--reason', reason)
  t.equal((await reject(' ')).code, 2)
  t.match(await reject('a slip'), { code: 0, stdout: /state: rejected/ })
  t.match(await reject('a slip'), { code: 0, stderr: /already rejected/ })
  t.match(await reject('another'), { code: 1, stderr: /already been rejected/ })
  t.match(await grant('wrong', '500'), { code: 1, stderr: /under a new id/ })
  t.match((await listed('--state', 'rejected')).slice(0, 1), [{ proposalId, state: 'rejected' }])
  const none = await run('credit', 'reject', 'proposal_none', '--reason', 'x')
  t.match(none, { code: 1, stderr: /no such proposal/ })
})

t.test('an adjustment above the limit is proposed as well', async (t) => {
  t.equal((await run('credit', 'grant', '50', '--currency', 'CNY', '--id', 'given')).code, 0)
  t.equal((await approvals('set', '--currency', 'CNY', '--above', '1')).code, 0)
  const adjust = (amount: string) =>
    run('credit', 'adjust', amount, '--currency', 'CNY', '--grant', 'given', '--reason', 'too much')
  t.match(await adjust('-51'), { code: 1, stderr: /must be from -50 to 0/ }, 'bounds come first')
  const proposed = await adjust('-5')
  t.match(
    proposed.stdout,
    /^adjustmentId: adjustment_\w+\nproposalId: proposal_\w+\nstate: proposed$/m,
  )
  t.match(await listed('--state', 'proposed'), [
    {
      posting: { kind: 'adjustment', amount: '-5', corrects: { kind: 'grant', grantId: 'given' } },
    },
  ])
})
