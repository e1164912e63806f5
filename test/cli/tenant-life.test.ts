import t from 'tap'
import { sharedStack } from '../helpers/stack.ts'
import { environmentOf, tollgate } from './support/commands.ts'

/** `tollgate tenant suspend`, `resume`, `close`, `rename` and the commands on one user. */

const stack = await sharedStack(t)
const env = environmentOf(stack)
const { tenantId, userId } = stack.demo
const run = (...args: readonly string[]) => tollgate(['tenant', ...args], env)

t.test('each step is shown, and the same again changes nothing', async (t) => {
  const suspended = await run('suspend', tenantId, '--reason', 'invoice 77 is overdue')
  t.equal(suspended.code, 0, suspended.stderr)
  t.match(suspended.stdout, /: suspended since .* \(revision 1\)\nreason: invoice 77 is overdue\n/)
  const again = await run('suspend', tenantId, '--reason', 'invoice 77 is overdue', '--json')
  t.match(JSON.parse(again.stdout), { tenantId, status: 'suspended', revision: 1 })
  t.match(again.stderr, /unchanged/)
  await stack.caughtUp()
  t.match((await run('list')).stdout, new RegExp(`${tenantId} .* suspended`))
  t.match((await run('resume', tenantId)).stdout, /: open since .* \(revision 2\)/)
  t.match((await run('resume', tenantId)).stderr, /unchanged/)
  t.match((await run('rename', tenantId, 'Paper Boats')).stdout, /: Paper Boats \(revision 1\)/)
  t.match((await run('rename', tenantId, 'Paper Boats')).stderr, /unchanged/)
})

t.test('one user is suspended, renamed and resumed', async (t) => {
  const of = ['--tenant', tenantId]
  const suspended = await run('suspend-user', userId, '--reason', 'left', ...of)
  t.equal(suspended.code, 0, suspended.stderr)
  t.match(suspended.stdout, `suspended user ${userId}: left`)
  t.equal((await run('rename-user', userId, 'Ann Lee', ...of)).code, 0)
  t.match((await run('users', ...of)).stdout, /Ann Lee +suspended: left/)
  t.equal((await run('resume-user', userId, ...of)).code, 0)
  t.match(JSON.parse((await run('users', '--json', ...of)).stdout), [
    { userId, name: 'Ann Lee', suspended: null },
  ])
})

t.test('what is refused ends with 1, a wrong use with 2, and says what to do', async (t) => {
  const refused: readonly (readonly [RegExp, ...string[]])[] = [
    [/suspend it first/, 'close', tenantId, '--reason', 'ends'],
    [/there is no tenant/, 'suspend', 'tenant_missing', '--reason', 'x'],
    [/there is no tenant/, 'rename', 'tenant_missing', 'x'],
    [/callers read it: one line/, 'suspend', tenantId, '--reason', ' '],
    [/has no user none/, 'suspend-user', 'none', '--tenant', tenantId, '--reason', 'x'],
    [/has no user none/, 'rename-user', 'none', 'x', '--tenant', tenantId],
    [/one line of 1 to 128/, 'rename', tenantId, ' '],
  ]
  for (const [words, ...args] of refused) {
    const { code, stderr } = await run(...args)
    t.equal(code, 1, args.join(' '))
    t.match(stderr, words, args.join(' '))
  }
  t.match(await run('suspend', tenantId), { code: 2, stderr: /--reason/ })
  t.equal((await run('suspend', tenantId, '--reason', 'ends')).code, 0)
  t.equal((await run('close', tenantId, '--reason', 'ended')).code, 0)
  const late = await run('resume', tenantId)
  t.equal(late.code, 1)
  t.match(late.stderr, /closed, which is final: open another tenant/)
})
