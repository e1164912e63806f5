import t from 'tap'
import { queriesOf, tasksOf } from '../e2e/support/client.ts'
import { sharedStack } from '../helpers/stack.ts'
import { environmentOf, tollgate } from './support/commands.ts'

/** The reports of the API at a shell: the same figures, as tables, CSV and JSON. */

const stack = await sharedStack(t)
const { demo, other } = stack
const env = environmentOf(stack)
const report = (...args: readonly string[]) => tollgate(['report', ...args], env)
const ours = ['--tenant', demo.tenantId] as const

for (const token of [demo.modelToken, demo.modelToken, other.modelToken]) {
  const tasks = tasksOf(stack.url, token)
  await tasks.reaches(await tasks.created(), 'succeeded')
}
await stack.caughtUp()
const finance = queriesOf(stack.url, demo.queryToken)
const { as_of: asOf } = (await finance.lines('')).body.data

t.test('every report is that of the API', async (t) => {
  for (const [name, path, ...args] of [
    ['usage', `/usage?as_of=${asOf}&group_by=model,user`, '--group-by', 'model,user'],
    ['summary', `/ledger/summary?as_of=${asOf}&group_by=day`, '--group-by', 'day'],
    ['balance', `/balance?as_of=${asOf}`],
    ['movements', `/movements?as_of=${asOf}&currency=CNY`, '--currency', 'CNY'],
    ['grants', `/grants?as_of=${asOf}`],
    ['adjustments', `/adjustments?as_of=${asOf}`],
    ['logs', `/logs?as_of=${asOf}`],
  ] as const) {
    const made = await report(name, ...ours, '--as-of', asOf, ...args, '--format', 'json')
    t.equal(made.code, 0, `${name}: ${made.stderr}`)
    const steady = (data: object) => JSON.parse(JSON.stringify(data, withoutTimes)) as object
    const answer = await finance.get(path)
    const own = JSON.parse(made.stdout) as object
    t.same(steady(own), steady(answer.body.data), name)
    const file = await report(name, ...ours, '--as-of', asOf, ...args, '--format', 'csv')
    const csv = await finance.get(`${path}&format=csv`)
    t.equal(file.stdout.split('\n')[0], csv.text.split('\n')[0], name)
    t.equal(file.stdout.split('\n').length, csv.text.split('\n').length, name)
  }
  t.match((await report('tasks', ...ours)).stdout, /^PLATFORM_ID +TASK_ID/)
})

/**
 * A path is that of a running gateway, and an operator at a shell sees the actor; the time of an
 * answer differs.
 */
const withoutTimes = (name: string, value: unknown): unknown =>
  ['updated_at', 'endpoint', 'actor', 'actor_user_id'].includes(name) ? undefined : value

t.test('JSON is one page, and any page can be asked for', async (t) => {
  const pageOf = async (...args: readonly string[]) =>
    JSON.parse((await report('grants', '--format', 'json', '--limit', '1', ...args)).stdout) as {
      readonly items: readonly { readonly grant_id: string }[]
      readonly next_cursor: string
    }
  const first = await pageOf()
  const second = await pageOf('--cursor', first.next_cursor)
  t.equal(first.items.length, 1)
  t.not(first.items[0]?.grant_id, second.items[0]?.grant_id)
  const tasks = await report(
    'tasks',
    ...ours,
    '--format',
    'json',
    '--page',
    '2',
    '--page-size',
    '1',
  )
  t.match(JSON.parse(tasks.stdout), { page: 2, page_size: 1, total: 2 })
  const wrong = await report('tasks', '--page', 'two')
  t.match(wrong.stderr, /--page must be/)
})

t.test('a table shows what has something in it, and the columns that are asked for', async (t) => {
  const account = await report('movements', ...ours, '--currency', 'CNY')
  t.match(account.stdout, /^DATE +KIND +AMOUNT +BALANCE/)
  t.match(account.stdout, /grant +10000 +10000 /)
  t.match(account.stdout, /usage +-\d/)
  t.notMatch(account.stdout, /LINE_ID/)
  t.match(account.stderr, /opening: 0\nclosing: \d[\d.]+\nas of: \d+/)
  const narrow = await report('grants', ...ours, '--columns', 'amount,currency')
  t.match(narrow.stdout, /^AMOUNT +CURRENCY\n10000 +/)
  const all = await report('usage', '--group-by', 'tenant')
  t.match(all.stdout, new RegExp(`${demo.tenantId}[^]*${other.tenantId}`))
})

t.test('an option that is not right is refused by its name', async (t) => {
  for (const [args, words] of [
    [['movements', ...ours], /--currency is required/],
    [['usage', '--group-by', 'colour'], /--group-by must be one or two of/],
    [
      ['usage', '--model', 'text-basik'],
      /--model: there is no model `text-basik`: did you mean `text-basic`/,
    ],
    [['usage', '--tenant', 'nothing'], /there is no tenant/],
    [['usage', '--from', 'yesterday'], /--from must be/],
    [['usage', '--as-of', '99999999'], /--as-of is beyond the end of the log/],
    [['balance', '--tz', 'Asia/Shanghai'], /--tz is the zone of a day/],
    [['grants', '--columns', 'colour'], /no column colour; there are grant_id/],
    [['grants', '--columns', 'amount', '--format', 'csv'], /--columns is for tables/],
    [['grants', '--format', 'xml'], /--format must be one of table, csv, json/],
    [['grants', '--surface', 'v1.chat'], /unknown option '--surface'/],
  ] as const) {
    const made = await report(...args)
    t.not(made.code, 0, args.join(' '))
    t.match(made.stderr, words, args.join(' '))
    t.equal(made.stdout, '', args.join(' '))
  }
})
