import t, { type Test } from 'tap'
import { addUser, issueToken } from '../../src/app/accounts/account-commands.ts'
import { sharedStack } from '../helpers/stack.ts'
import { call, tasksOf } from './support/client.ts'
import { askConsole, giveViewReason, signInToConsole } from './support/console.ts'
import { until } from '../helpers/eventually.ts'

/** The activity of a tenant in the console: lives as rows, filters, pages, and what each reader may see. */

const stack = await sharedStack(t)
const { url, demo, other, access } = stack

const chat = async (token: string, model = 'text-basic'): Promise<string> => {
  const { headers } = await call(`${url}/v1/chat/completions`, {
    method: 'POST',
    token,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
  })
  return headers.get('x-call-id') ?? ''
}
await addUser(access, { tenantId: demo.tenantId, userId: 'second', name: 'Second' })
const second = await issueToken(access, {
  tenantId: demo.tenantId,
  userId: 'second',
  kind: 'model',
  name: 'second',
})
await stack.caughtUp()
const first = await chat(demo.modelToken)
const ofSecond = await chat(second.secret)
const ofOther = await chat(other.modelToken)
const created = String((await tasksOf(url, demo.modelToken).create()).body.id)
const lifeOf = async (id: string) =>
  (await call(`${url}/api/query/v1/lives/${id}`, { token: demo.queryToken })).body.data
await until(async () => (await lifeOf(created))?.state === 'settled')
const taskId = String((await lifeOf(created)).id)
await stack.caughtUp()
const reader = await signInToConsole(url, demo.queryToken)
const operator = await signInToConsole(url, demo.adminToken)

const pathOf = (tenantId: string, query = '') => `/console/tenants/${tenantId}/activity${query}`
const page = (query = '', cookie = reader) =>
  askConsole(url, pathOf(demo.tenantId, query), { cookie })
const livesIn = (text: string): readonly string[] =>
  [...text.matchAll(/href="\/console\/life\/([^"?]+)/g)].map(([, id = '']) => id)
const linkOf = (text: string, name: string): string =>
  (new RegExp(`href="([^"]+)">${name}<`).exec(text)?.[1] ?? '').replaceAll('&amp;', '&')

t.test('a life is one row, the newest first, with how it stands', async (t) => {
  const { status, text } = await page()
  t.equal(status, 200)
  t.same(livesIn(text), [taskId, ofSecond, first])
  t.match(text, /succeeded and settled/)
  t.match(text, /answered/)
  t.notMatch(text, ofOther)
  const { body } = await call(`${url}/api/query/v1/lives`, { token: demo.queryToken })
  for (const row of body.data.items) {
    const life = (await call(`${url}/api/query/v1/lives/${row.id}`, { token: demo.queryToken }))
      .body.data
    const last = life.steps.at(-1)
    t.same(
      [row.kind, row.state, row.last_step, row.held, row.charged, row.at],
      [life.kind, life.state, last.title, last.after.held, last.after.charged, life.steps[0].at],
      row.id,
    )
  }
})

/** Asks the addresses that the amounts of a page name, and finds each among the answer's. */
async function checkAmounts(t: Test, text: string): Promise<void> {
  const shown = [...text.matchAll(/data-from="([^"]+)">([^<]+)</g)]
  t.ok(shown.length > 0, 'there are amounts')
  for (const [, from = '', digits = ''] of shown) {
    const path = from.replaceAll('&amp;', '&')
    const { body } = await call(`${url}${path}`, { token: demo.queryToken })
    const amounts = body.data.items.flatMap((item: { held: string; charged: string }) => [
      item.held,
      item.charged,
    ])
    t.ok(amounts.includes(digits.replaceAll(' ', '')), `${digits} of ${path}`)
  }
}

t.test('every amount is the one that the API answers, in any zone', async (t) => {
  for (const query of ['', '?tz=Asia/Shanghai', '?tz=Europe/Berlin&time_preset=30d'])
    await checkAmounts(t, (await page(query)).text)
})

t.test('filters narrow it, and links hold them', async (t) => {
  const tokens = await call(`${url}/api/query/v1/lives?user_id=second`, { token: demo.queryToken })
  const tokenId = tokens.body.data.items[0].token_id
  const tries: readonly (readonly [string, readonly string[]])[] = [
    ['?type=task', [taskId]],
    ['?type=call', [ofSecond, first]],
    ['?user_id=second', [ofSecond]],
    [`?token_id=${tokenId}`, [ofSecond]],
    ['?model=text-basic', [ofSecond, first]],
    ['?model=text-basic&state=running', []],
    ['?state=settled&type=call', [ofSecond, first]],
    ['?state=not_billed', []],
    ['?code=invalid', []],
    ['?user_id=missing', []],
    ['?to=2020-01-01', []],
    ['?from=2020-01-01&type=call&tz=Asia/Tokyo', [ofSecond, first]],
  ]
  for (const [query, ids] of tries) t.same(livesIn((await page(query)).text), ids, query)
  t.match((await page('?to=2020-01-01')).text, /Choose a longer time, or clear a filter/)
  t.match(await page('?user_id=secnd'), {
    status: 400,
    text: /there is no user `secnd`: did you mean `second`/,
  })
  t.match((await page('?type=task&tz=Asia/Tokyo')).text, /type=task/)
})

t.test('pages of fifty, older and newest', async (t) => {
  const calls: string[] = []
  for (let count = 0; count < 50; count += 1) calls.unshift(await chat(demo.modelToken))
  await stack.caughtUp()
  const newest = await page()
  t.same(livesIn(newest.text), calls)
  const older = await askConsole(url, linkOf(newest.text, 'Older'), { cookie: reader })
  t.same(livesIn(older.text), [taskId, ofSecond, first])
  t.notMatch(older.text, /every 5s/, 'only the newest page asks for more')
  const back = await askConsole(url, linkOf(older.text, 'Newest'), { cookie: reader })
  t.same(livesIn(back.text), calls)
})

t.test('the part asks for what is newer, and is left alone while there is nothing', async (t) => {
  const { text } = await page('?type=call')
  const [, follow = ''] = /hx-get="([^"]+since=[^"]+)"/.exec(text) ?? []
  const ask = () =>
    askConsole(url, follow.replaceAll('&amp;', '&'), {
      cookie: reader,
      headers: { 'hx-request': 'true' },
    })
  t.match(await ask(), { status: 204, text: '' })
  await chat(other.modelToken)
  await stack.caughtUp()
  t.match(await ask(), { status: 204 }, 'another tenant is not seen')
  const newer = await chat(demo.modelToken)
  await stack.caughtUp()
  const answer = await ask()
  t.equal(answer.status, 200)
  t.equal(answer.headers.get('hx-push-url'), null, 'the address stays')
  t.equal(livesIn(answer.text)[0], newer)
  t.equal(livesIn(answer.text).length, 50)
})

t.test('other tenants are as missing ones, and roles see what they may', async (t) => {
  const tried = (tenantId: string) => askConsole(url, pathOf(tenantId), { cookie: reader })
  const plain = ({ text }: { readonly text: string }) => text.replaceAll(/req_\w+/g, '')
  const [theirs, none] = [await tried(other.tenantId), await tried('missing_tenant')]
  t.equal(theirs.status, 403)
  t.equal(none.status, 403)
  t.equal(plain(theirs), plain(none))
  await giveViewReason(url, operator, other.tenantId)
  const seen = await askConsole(url, pathOf(other.tenantId), { cookie: operator })
  t.ok(livesIn(seen.text).includes(ofOther))
  t.match(await askConsole(url, pathOf('missing_tenant'), { cookie: operator }), {
    status: 400,
    text: /there is no tenant `missing_tenant`/,
  })
  const scope = { level: 'current_user' } as const
  const wanted = { tenantId: demo.tenantId, userId: 'second', name: 'own' } as const
  const { secret } = await issueToken(access, { ...wanted, kind: 'query', scope })
  await stack.caughtUp()
  const own = await signInToConsole(url, secret)
  t.same(livesIn((await page('', own)).text), [ofSecond], 'a user sees its own')
  t.match(await page(`?user_id=${demo.userId}`, own), { status: 403 })
  t.match(
    await call(`${url}/api/query/v1/lives`, { token: demo.queryToken }),
    { status: 200 },
    'one tenant needs no name',
  )
})

t.test('odd parameters are pages in words', async (t) => {
  const lines = await call(`${url}/api/query/v1/ledger/lines?limit=1`, { token: demo.queryToken })
  const tries: readonly (readonly [string, RegExp])[] = [
    ['?tz=Mars/Base', /tz/],
    ['?user_id=%00', /NUL/],
    [`?cursor=${lines.body.data.next_cursor}`, /cursor/],
    ['?cursor=x', /cursor/],
    ['?from=2026-02-01&to=2026-01-01', /from must not be later than to/],
    ['?type=asset', /type/],
    ['?since=x', /since/],
    ['?from=yesterday', /from/],
  ]
  for (const [query, words] of tries) {
    const { status, text } = await page(query)
    t.equal(status, 400, query)
    t.match(text, words, query)
    t.notMatch(text, / at .*\.[jt]s:/, query)
  }
  for (const id of ['%00', 'é', 'x'.repeat(129)])
    t.equal((await askConsole(url, pathOf(id), { cookie: operator })).status, 400, id)
})

t.test('the address that the page had before leads on to it, with its query', async (t) => {
  const query = '?user_id=x%20y&tz=Asia%2FShanghai'
  const former = `/console/tenants/${demo.tenantId}/history${query}`
  const moved = await askConsole(url, former, { cookie: reader })
  t.equal(moved.status, 301)
  t.equal(moved.headers.get('location'), pathOf(demo.tenantId, query))
  const odd = await askConsole(url, `/console/tenants/a%2F..%2F%2Fb/history`, { cookie: reader })
  t.equal(odd.headers.get('location'), '/console/tenants/a%2F..%2F%2Fb/activity')
  const signedOut = await askConsole(url, former)
  t.match(signedOut.headers.get('location'), '/console/sign-in?next=')
})
