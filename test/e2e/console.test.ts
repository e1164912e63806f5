import t from 'tap'
import {
  addUser,
  disableToken,
  issueToken,
  openTenant,
} from '../../src/app/accounts/account-commands.ts'
import { setSetting } from '../../src/app/accounts/settings.ts'
import { toTimestamp } from '../../src/kernel/clock.ts'
import { until } from '../helpers/eventually.ts'
import { pageText } from '../helpers/printed-calls.ts'
import { sharedStack } from '../helpers/stack.ts'
import { call, callOnce, tasksOf } from './support/client.ts'
import {
  askConsole,
  type ConsoleRequest,
  giveViewReason,
  signInToConsole,
} from './support/console.ts'

/** The console over HTTP: sessions, attacks on them, bad input, and what each reader may see. */

const stack = await sharedStack(t)
const { url, demo, other, access } = stack
const ask = (path: string, request?: ConsoleRequest) => askConsole(url, path, request)
const operator = await signInToConsole(url, demo.adminToken)
const reader = await signInToConsole(url, demo.queryToken)

const chat = (token: string): Promise<string> => callOnce(url, token)
const callId = await chat(demo.modelToken)
const otherCallId = await chat(other.modelToken)
const task = await tasksOf(url, demo.modelToken).create()
await stack.caughtUp()

t.test('without a session every page leads to the sign-in, and back after it', async (t) => {
  const place = `/console/life/${callId}?at=1&tz=Asia%2FShanghai`
  const { status, headers } = await ask(place)
  t.equal(status, 303)
  const signIn = headers.get('location') ?? ''
  t.equal(signIn, `/console/sign-in?next=${encodeURIComponent(place).replaceAll('%20', '+')}`)
  const form = await ask(signIn)
  t.match(form, { status: 200, text: /Sign in/ })
  t.match(form.text, `name="next" value="${place.replaceAll('&', '&amp;')}"`)
  const done = await ask('/console/sign-in', { form: { token: demo.queryToken, next: place } })
  t.equal(done.status, 303)
  t.equal(done.headers.get('location'), place)
  const set = done.headers.get('set-cookie') ?? ''
  t.match(set, /^tollgate=tcs-[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/)
  t.match(await ask(place, { cookie: done.cookie }), { status: 200, text: /What happened/ })
  for (const next of ['//evil.example', 'https://evil.example', '/api/admin/tenants'])
    t.equal(
      (await ask('/console/sign-in', { form: { token: demo.queryToken, next } })).headers.get(
        'location',
      ),
      '/console',
      next,
    )
})

t.test('a refused token is said beside its field, and sets no cookie', async (t) => {
  const tries = [
    ['adm-wrong', 401, /The token is not valid/],
    ['', 401, /The token is not valid/],
    [demo.modelToken, 403, /This is a model token: use a query token/],
    [demo.profileToken, 403, /This is a profile token: use a query token/],
  ] as const
  for (const [token, status, words] of tries) {
    const answer = await ask('/console/sign-in', { form: { token, next: '' } })
    t.match(answer, { status, text: words, cookie: undefined })
    if (token !== '') t.notMatch(answer.text, token, 'the token is not repeated')
  }
})

t.test(
  'a session ends with its sign-out and with its token, and no id is taken over',
  async (t) => {
    const page = `/console/life/${callId}`
    const own = await signInToConsole(url, demo.queryToken)
    t.match(await ask(page, { cookie: own }), { status: 200 })
    const out = await ask('/console/sign-out', { cookie: own, form: {} })
    t.equal(out.status, 303)
    t.match(out.headers.get('set-cookie'), /^tollgate=; .*Max-Age=0/)
    t.match(await ask(page, { cookie: own }), { status: 303 }, 'the old cookie is worth nothing')
    const planted = `tollgate=tcs-${'a'.repeat(43)}`
    const { cookie } = await ask('/console/sign-in', {
      cookie: planted,
      form: { token: demo.queryToken, next: '' },
    })
    t.not(cookie, planted, 'an id that was planted becomes no session')
    t.match(await ask(page, { cookie: planted }), { status: 303 })
    const again = await ask('/console/sign-in', {
      cookie,
      form: { token: demo.queryToken, next: '' },
    })
    t.match(await ask(page, { cookie }), { status: 303 }, 'a new sign-in ends the session before')
    t.match(await ask(page, { cookie: again.cookie }), { status: 200 })
    const wanted = { tenantId: demo.tenantId, userId: demo.userId, name: 'short' } as const
    const scope = { level: 'all_users' } as const
    const { tokenId, secret } = await issueToken(access, { ...wanted, kind: 'query', scope })
    await stack.caughtUp()
    const short = await signInToConsole(url, secret)
    t.match(await ask(page, { cookie: short }), { status: 200 })
    await disableToken(access, { tokenId, reason: 'lost' })
    await stack.caughtUp()
    t.match(await ask(page, { cookie: short }), { status: 303 }, 'disabled in the middle of a walk')
  },
)

t.test('forms of other sites are refused', async (t) => {
  const form = { token: demo.queryToken, next: '' }
  const tried = (headers: Record<string, string>) => ask('/console/sign-in', { form, headers })
  for (const site of ['cross-site', 'same-site', 'none'])
    t.match(await tried({ 'sec-fetch-site': site }), {
      status: 403,
      cookie: undefined,
      text: /not sent from the console/,
    })
  const { host } = new URL(url)
  const withoutSite = (origin: string) =>
    fetch(`${url}/console/sign-in`, {
      method: 'POST',
      redirect: 'manual',
      headers: origin === '' ? {} : { origin },
      body: new URLSearchParams(form),
    })
  t.equal((await withoutSite('')).status, 403)
  t.equal((await withoutSite('https://evil.example')).status, 403)
  t.equal((await withoutSite('null')).status, 403)
  t.equal((await withoutSite(`https://${host}`)).status, 403, 'of another scheme')
  t.equal((await withoutSite(`http://${host}`)).status, 303)
  t.match(
    await ask('/console/sign-out', {
      cookie: operator,
      form: {},
      headers: { 'sec-fetch-site': 'cross-site' },
    }),
    { status: 403 },
  )
  t.match(await ask('/console', { cookie: operator }), { status: 200 }, 'nothing was ended')
})

t.test('a token is taken over an open connection from this machine alone', async (t) => {
  const form = { token: demo.queryToken, next: '' }
  for (const headers of [
    { 'x-forwarded-for': '203.0.113.7' },
    { 'x-forwarded-proto': 'https' },
    { forwarded: 'for=203.0.113.7;proto=https' },
  ]) {
    const refused = { status: 403, cookie: undefined, text: /use https/ }
    t.match(await ask('/console/sign-in', { form, headers }), refused)
    t.match(await ask('/console/sign-in', { headers }), refused)
  }
})

t.test('every answer keeps the page to itself', async (t) => {
  const answers = await Promise.all([
    ask('/console/sign-in'),
    ask('/console', { cookie: operator }),
    ask(`/console/life/${callId}`, { cookie: operator }),
    ask('/console/life/call_none', { cookie: operator }),
    ask('/console/no-such-page', { cookie: operator }),
    ask('/console/sign-in', { form: { token: 'adm-wrong', next: '' } }),
  ])
  for (const { headers, text } of answers) {
    t.match(headers.get('content-security-policy'), "default-src 'none'; script-src 'self'")
    t.match(headers.get('content-security-policy'), "frame-ancestors 'none'")
    t.equal(headers.get('cache-control'), 'no-store')
    t.equal(headers.get('referrer-policy'), 'same-origin')
    t.equal(headers.get('x-content-type-options'), 'nosniff')
    t.match(headers.get('content-type'), 'text/html')
    t.match(text, /^<!doctype html><html lang="en">/)
    t.notMatch(text, /\sstyle=|\son\w+=|javascript:|<script(?! src="\/console\/static\/)/)
  }
})

t.test('ids of another tenant read byte for byte as missing ones', async (t) => {
  const shape = (text: string, id: string): string =>
    text.replaceAll(id, 'ID').replaceAll(/req_\w+/g, 'REQUEST')
  const missing = 'call_01M8FQ8YPDHGR5CJX5R35WXRG6'
  for (const path of ['/console/life/', '/console/find?q=']) {
    const [foreign, none] = await Promise.all(
      [otherCallId, missing].map((id) => ask(`${path}${id}`, { cookie: reader })),
    )
    t.equal(foreign?.status, none?.status, path)
    const found = shape(foreign?.text ?? '', otherCallId)
    t.equal(
      found.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z?/g, 'TIME'),
      shape(none?.text ?? '', missing).replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z?/g, 'TIME'),
      path,
    )
  }
  await giveViewReason(url, operator, other.tenantId)
  t.match(await ask(`/console/life/${otherCallId}`, { cookie: operator }), { status: 200 })
})

t.test('odd requests are pages in words', async (t) => {
  const long = 'a'.repeat(4_001)
  const page = (path: string) => ask(path, { cookie: operator })
  const odd: readonly (readonly [path: string, status: number, words: RegExp])[] = [
    [`/console/life/${callId}?at=0`, 400, /at must be/],
    [`/console/life/${callId}?at=99`, 400, /at must be a step from 1 to/],
    [`/console/life/${callId}?at=x`, 400, /at must be/],
    [`/console/life/${callId}?tz=Mars%2FBase`, 400, /tz /],
    [`/console/life/${callId}?tz=UTC&tz=UTC`, 400, /tz/],
    [`/console/life/${callId}?colour=red`, 400, /colour/],
    [`/console/life/${'x'.repeat(10_000)}`, 404, /Nothing has this id/],
    ['/console/life/%00', 400, /NUL/],
    ['/console/life/..%2F..%2Fapi', 404, /Nothing has this id/],
    ['/console/life/%E0%A4%A', 400, /URL/],
    [`/console/find?q=${long}`, 400, /q must have 1 to 4,000 characters/],
    ['/console/find?q=%00', 400, /NUL/],
    ['/console/ledger/lines?currency=EUR', 400, /currency/],
    ['/console/ledger/lines?cursor=x', 400, /cursor/],
    ['/console/ledger/lines?from=tomorrow', 400, /from/],
    ['/console?tz=Mars%2FBase', 400, /tz /],
    ['/console/failed?time_preset=9y', 400, /time_preset/],
    ['/console/failed?cursor=x', 400, /cursor/],
    ['/console/failed?from=2026-01-02&to=2026-01-01', 400, /from|to/],
    ['/console/nothing', 404, /There is no such route/],
    ['/console/static/0000000000000000/console.css', 404, /There is no such route/],
    ['/console/static/..%2F..%2Fpackage.json', 404, /There is no such route/],
  ]
  for (const [path, status, words] of odd) {
    const answer = await page(path)
    t.equal(answer.status, status, `${path.slice(0, 80)}: ${answer.text.slice(0, 200)}`)
    t.match(answer.text, words, path.slice(0, 80))
    t.match(answer.headers.get('content-type'), 'text/html')
    t.notMatch(answer.text, /node_modules|\.ts:|at .*\(/, 'no stack')
  }
  const send = (body: string, type: string) =>
    fetch(`${url}/console/sign-in`, {
      method: 'POST',
      headers: { 'content-type': type, 'sec-fetch-site': 'same-origin' },
      body,
    })
  const form = 'application/x-www-form-urlencoded'
  const forms = [
    [`token=${'a'.repeat(9_000)}`, form, 413, /larger than 8 KiB/],
    ['token=a&token=b', form, 400, /no field token, or has it twice/],
    ['token=a&next=&colour=red', form, 400, /no field colour/],
    ['{"token":"a"}', 'application/json', 415, /Unsupported format/],
    ['token=a', 'text/plain', 415, /Unsupported format/],
  ] as const
  for (const [body, type, status, words] of forms) {
    const answer = await send(body, type)
    t.equal(answer.status, status, body.slice(0, 40))
    t.match(await answer.text(), words, body.slice(0, 40))
  }
  const put = await fetch(`${url}/console/sign-in`, {
    method: 'PUT',
    headers: { 'sec-fetch-site': 'same-origin' },
  })
  t.equal(put.status, 405)
  t.match(await put.text(), /has no PUT/)
})

t.test('a secret that is pasted stands in no address and on no page', async (t) => {
  const clean = '/console/find?refused=secret'
  const secrets = [demo.modelToken, demo.queryToken, demo.adminToken, demo.profileToken]
  for (const secret of secrets) {
    const cut = secret.slice(0, 30)
    for (const q of [secret, `Authorization: Bearer ${secret}\n`, `key ${cut}Aa1`]) {
      const sent = await ask('/console/find', { cookie: operator, form: { q } })
      t.equal(sent.status, 303, q)
      t.equal(sent.headers.get('location'), clean, q)
      t.notMatch(sent.text, cut)
    }
    const named = encodeURIComponent(`Bearer ${secret}`)
    for (const path of [`find?q=${named}`, `failed?token_id=${secret}`, `life/${secret}?tz=UTC`])
      for (const cookie of [operator, undefined])
        t.equal((await ask(`/console/${path}`, { cookie })).headers.get('location'), clean, path)
    const headers = { 'hx-request': 'true' }
    const part = await ask(`/console/failed?token_id=${secret}`, { cookie: operator, headers })
    t.equal(part.headers.get('hx-redirect'), clean)
  }
  const shown = await ask(clean, { cookie: operator })
  t.match(shown, { status: 200, text: /search for the last four characters/ })
  t.match(shown.text, /<form class="find" action="\/console\/find" method="post"/)
})

t.test('a search has an address that can be sent on', async (t) => {
  const find = (q: string) => ask('/console/find', { cookie: reader, form: { q } })
  const sent = await find(` ${callId.slice(0, 12)} & a=b `)
  const query = new URLSearchParams({ q: `${callId.slice(0, 12)} & a=b` }).toString()
  const address = `/console/find?${query}`
  t.match(sent, { status: 303 })
  t.equal(sent.headers.get('location'), address)
  t.equal((await find(' ')).headers.get('location'), '/console/find')
  t.match(await find('字'.repeat(4_000)), { status: 200, text: /Nothing found/ })
  t.match(await find('字'.repeat(4_001)), { status: 400, text: /q must have 1 to 4,000/ })
  t.match(await find('a'.repeat(40_000)), { status: 413 })
  const odd = await ask('/console/find', { cookie: reader, form: { q: 'a', colour: 'red' } })
  t.match(odd, { status: 400, text: /no field colour/ })
  const foreign = { 'sec-fetch-site': 'cross-site' }
  const other = await ask('/console/find', { cookie: reader, form: { q: 'a' }, headers: foreign })
  t.equal(other.status, 403)
})

t.test('texts of callers stay texts', async (t) => {
  const hostile = `"><img src=x onerror=alert(1)><script>alert(2)</script>' style=x javascript:alert(3)`
  const tenantId = 'hostile'
  await openTenant(access, { tenantId, name: hostile.slice(0, 100) })
  await addUser(access, { tenantId, userId: 'ann', name: hostile.slice(0, 100) })
  await stack.caughtUp()
  for (const path of [
    '/console/find?q=hostile',
    `/console/find?q=${encodeURIComponent(hostile)}`,
    `/console/life/${encodeURIComponent(hostile)}`,
    `/console/sign-in?next=${encodeURIComponent(hostile)}`,
    `/console/enter?code=${encodeURIComponent(hostile)}`,
  ]) {
    const { text } = await ask(path, { cookie: operator })
    t.notMatch(text, /<img|<script(?! src="\/console\/static\/)/, path)
    const outside = text
      .replaceAll(/(?:value|data-from|href)="[^"]*"/g, '')
      .replaceAll(/>[^<]*</g, '><')
    t.notMatch(outside, /onerror|alert\(/, `${path}: in no attribute of its own`)
  }
})

t.test('a page of one life has what the API answers', async (t) => {
  for (const id of [callId, String(task.body.id)]) {
    const { body } = await call(`${url}/api/query/v1/lives/${id}`, { token: demo.queryToken })
    const { text } = await ask(`/console/life/${id}`, { cookie: reader })
    const words = text.replaceAll(/<[^>]*>/g, ' ').replaceAll('&amp;', '&')
    for (const step of body.data.steps) t.match(words, step.title, step.title)
    t.match(words, body.data.receipt.verdict)
    t.match(words, body.data.receipt.request_id)
  }
  const found = await ask(`/console/find?q=${callId}`, { cookie: reader })
  t.match(found, { status: 303 })
  t.equal(found.headers.get('location'), `/console/life/${callId}`, 'one hit is opened')
  t.match(await ask('/console/find?q=demo', { cookie: operator }), {
    status: 200,
    text: /tenant_demo/,
  })
  t.match(await ask('/console/find?q=zzzzzz', { cookie: reader }), {
    status: 200,
    text: /Nothing found/,
  })
})

/** The amounts of a page with the addresses of the API that answer them. */
const amountsOf = (text: string): readonly (readonly [address: string, amount: string])[] =>
  [...text.matchAll(/<span class="money[^"]*" data-from="([^"]+)">([^<]+)/g)].map(
    ([, address = '', shown = '']) => [
      address.replaceAll('&amp;', '&'),
      shown.trim().replaceAll(' ', '').replace('−', '-'),
    ],
  )

t.test('every amount of a page is in the answer of the API that it names', async (t) => {
  const money = await ask('/console', { cookie: reader })
  t.match(money, { status: 200, text: /Spend by day and model/ })
  const lines = await ask('/console/ledger/lines', { cookie: reader })
  t.match(lines, { status: 200, text: new RegExp(callId) })
  const life = await ask(`/console/life/${String(task.body.id)}`, { cookie: reader })
  const amounts = [money, lines, life].flatMap(({ text }) => amountsOf(text))
  t.ok(amounts.length > 8, `${amounts.length} amounts`)
  for (const [address, amount] of amounts) {
    const answer = await call(`${url}${address}`, { token: demo.queryToken })
    t.equal(answer.status, 200, address)
    const known = [...answer.text.matchAll(/"(\d+(?:\.\d+)?)"/g)].map(([, text = '']) =>
      Number(text),
    )
    t.ok(known.includes(Math.abs(Number(amount))), `${amount} is in ${address}`)
  }
  const [, from = ''] = /<figure class="panel" data-from="([^"]+)"/.exec(money.text) ?? []
  const usage = await call(`${url}${from.replaceAll('&amp;', '&')}`, { token: demo.queryToken })
  for (const { amount } of usage.body.data.totals) t.ok(money.text.includes(amount), amount)
  t.notMatch(money.text, /NaN|undefined|Infinity/)
})

t.test('an operator sees all tenants, and one of them by its address', async (t) => {
  const all = await ask('/console', { cookie: operator })
  t.match(all, { status: 200, text: /All tenants, yesterday and today/ })
  await giveViewReason(url, operator, other.tenantId)
  const one = await ask(`/console?tenant_id=${other.tenantId}`, { cookie: operator })
  t.match(one, {
    status: 200,
    text: new RegExp(`<h1 class="title">${other.tenantId.replace('tenant_', '')}`),
  })
  t.notMatch(one.text, callId)
  const parts = /<table class="parts".*?<\/table>/.exec(one.text)?.[0] ?? ''
  t.match(parts.replaceAll(/<[^>]*>/g, ''), 'granted+ 10 000', 'a balance shows its parts')
  t.match(await ask(`/console?tenant_id=${other.tenantId}`, { cookie: reader }), {
    status: 403,
    text: /may not read that tenant_id/,
  })
})

t.test('what is found leads to the page of it that the reader may see', async (t) => {
  const wanted = { tenantId: demo.tenantId, userId: demo.userId, name: 'reader' } as const
  const scope = { level: 'all_users' } as const
  const support = { ...wanted, scope, role: 'support' } as const
  const [queries, manages] = [
    (await issueToken(access, { ...support, kind: 'query' })).secret,
    (await issueToken(access, { ...support, kind: 'admin' })).secret,
  ]
  const { tokenId } = await issueToken(access, { ...wanted, kind: 'model', name: 'Zebra 11' })
  await stack.caughtUp()
  const supporter = await signInToConsole(url, queries)
  const activity = `/console/tenants/${demo.tenantId}/activity`
  const line = `${callId}:1`
  const tries = [
    [line, reader, `/console/ledger/lines/${encodeURIComponent(line)}`],
    [line, supporter, `/console/life/${callId}`],
    ['Zebra 11', reader, `${activity}?token_id=${tokenId}`],
    ['Zebra 11', await signInToConsole(url, manages), `/console/tokens/${tokenId}`],
    ['Zebra 11', operator, `/console/tokens/${tokenId}`],
    [demo.userId, reader, `${activity}?user_id=${demo.userId}`],
    [demo.tenantId, supporter, `/console?tenant_id=${demo.tenantId}`],
  ] as const
  for (const [word, cookie, leadsTo] of tries) {
    const found = await ask(`/console/find?${new URLSearchParams({ q: word }).toString()}`, {
      cookie,
    })
    t.equal(found.status, 303, word)
    t.equal(found.headers.get('location'), leadsTo, word)
    t.equal((await ask(leadsTo, { cookie })).status, 200, leadsTo)
  }
})

t.test('a role sees its pages and panels, and reads which role sees the others', async (t) => {
  const wanted = { tenantId: demo.tenantId, userId: demo.userId, name: 'role' } as const
  const scope = { level: 'all_users' } as const
  const cookieOf = async (role: 'finance' | 'support') => {
    const { secret } = await issueToken(access, { ...wanted, kind: 'query', scope, role })
    await stack.caughtUp()
    return signInToConsole(url, secret)
  }
  const [finance, support] = [await cookieOf('finance'), await cookieOf('support')]
  t.match(await ask('/console', { cookie: finance }), { text: /Spend by day and model/ })
  const supports = await ask('/console', { cookie: support })
  t.match(supports, {
    status: 200,
    text: /Shown to the role finance; your token has the role support/,
  })
  t.notMatch(supports.text, /Spend by day and model/)
  t.match(supports.text, /Latest failures/)
  t.match(await ask('/console/ledger/lines', { cookie: finance }), { status: 200 })
  t.match(await ask('/console/ledger/lines', { cookie: support }), {
    status: 403,
    text: /is for tokens of the role finance, or without a role; this one has the role support/,
  })
  const refused = await ask('/console/ledger/lines', { cookie: support })
  t.match(refused.text, /<nav aria-label="Pages">/, 'the refusal has the head of the page')
  t.notMatch(refused.text, /href="\/console\/ledger/, 'without the place that the role has not')
  const life = `/console/life/${callId}`
  t.match(await ask(life, { cookie: support }), {
    status: 200,
    text: /1 event in the log/,
  })
  const financial = await ask(life, { cookie: finance })
  t.match(financial, { status: 200, text: /Shown to the role support/ })
  t.notMatch(financial.text, /CallSettled/)
  for (const path of ['/console/find', '/console/failed'])
    for (const cookie of [finance, support])
      t.match(await ask(path, { cookie }), { status: 200 }, path)
})

/** Pages with the roles that may see them, as the page about the console says. */
const documented = [
  ...pageText('docs/console.md').matchAll(/^\| `(\/console[^`]*)`[^|]*\|[^|]*\|([^|]*)\|/gm),
].map(([, path = '', roles = '']) => ({
  path: path
    .replace('{line}', `${callId}:1`)
    .replace('{id}', callId)
    .replace('{period}', `${demo.tenantId}~USD~${toTimestamp(Date.now()).slice(0, 7)}`)
    .replace('{tenant}', demo.tenantId),
  roles,
}))

t.test(
  'each page opens for the roles that its documentation names, and for no other',
  async (t) => {
    t.ok(documented.length >= 5, `${documented.length} pages`)
    const wanted = { tenantId: demo.tenantId, userId: demo.userId, name: 'roles' } as const
    const scope = { level: 'all_users' } as const
    const refused = await call(`${url}/v1/models/none`, { token: demo.modelToken })
    const requestId = refused.headers.get('x-request-id') ?? ''
    await until(async () => {
      const counted = `${url}/api/query/v1/refusals?request_id=${requestId}`
      return (await call(counted, { token: demo.queryToken })).body.data.items.length > 0
    })
    for (const role of ['finance', 'support'] as const) {
      const { secret } = await issueToken(access, { ...wanted, kind: 'query', scope, role })
      await stack.caughtUp()
      const cookie = await signInToConsole(url, secret)
      for (const { path, roles } of documented.filter((one) => !/^ *admin/.test(one.roles))) {
        const { status } = await ask(path.replace('{request}', requestId), { cookie })
        // A form that is not needed leads on.
        t.equal(status === 303 ? 200 : status, roles.includes(role) ? 200 : 403, `${path}, ${role}`)
      }
    }
  },
)

t.test(
  'a date stands for the preset that its form sends too, and links have absolute times',
  async (t) => {
    const today = new Date().toISOString().slice(0, 10)
    for (const path of ['/console/ledger/lines', '/console/failed']) {
      const dated = await ask(`${path}?time_preset=30d&from=${today}&to=&tz=`, { cookie: operator })
      t.match(dated, { status: 200 }, path)
      const later = await ask(`${path}?time_preset=24h&from=2099-01-01`, { cookie: operator })
      t.match(later, { status: 200, text: /class="empty"/ }, 'the preset is not read')
    }
    const overview = await ask('/console?tz=Asia%2FKolkata', { cookie: reader })
    const days = [
      ...overview.text.matchAll(/<a href="(\/console\/ledger\/lines[^"]*)" tabindex="-1"/g),
    ]
    t.equal(days.length, 2 * 14, 'both currencies have fourteen days')
    const stops = [...overview.text.matchAll(/<input type="radio" name="([^"]+)"/g)]
    t.equal(stops.length, 2 * 14, 'each day has its figures')
    t.equal(new Set(stops.map(([, name]) => name)).size, 2, 'a chart is one stop')
    const printed = /<div class="printed".*?<\/div>/.exec(overview.text)?.[0]
    t.match(printed?.replaceAll(/<[^>]*>/g, ''), `tenant ${demo.tenantId} · times in Asia/Kolkata`)
    const [last = ''] = days.slice(-1).map(([, href = '']) => href.replaceAll('&amp;', '&'))
    const { searchParams } = new URL(last, url)
    const [from, to] = ['from', 'to'].map((name) => searchParams.get(name) ?? '')
    t.match(from, /T18:30:00\.000Z$/, 'a day of Kolkata begins then')
    t.equal(Date.parse(to ?? '') - Date.parse(from ?? ''), 86_400_000)
    t.match(await ask(last, { cookie: reader }), { status: 200, text: new RegExp(callId) })
    for (let n = 0; n < 26; n += 1) await chat(demo.modelToken)
    await stack.caughtUp()
    const first = await ask('/console/ledger/lines', { cookie: reader })
    const [, older = ''] = /<a class="button" href="([^"]*)">Older/.exec(first.text) ?? []
    t.match(older, /from=\d{4}-/)
    t.notMatch(older, 'time_preset')
    const second = await ask(older.replaceAll('&amp;', '&'), { cookie: reader })
    t.match(second, { status: 200, text: />Newest</ })
    const ids = (text: string) => [...text.matchAll(/call_\w{26}(?=<|")/g)].map(([id]) => id)
    t.ok(second.text.includes('<tr>') && ids(second.text).length > 0, 'the second page has lines')
  },
)

t.test('a name that does not exist is said as the API says it, at its field', async (t) => {
  const lines = '/console/ledger/lines'
  const activity = `/console/tenants/${demo.tenantId}/activity`
  const tries = [
    [
      lines,
      'model=text-basik',
      'model',
      /there is no model `text-basik`: did you mean `text-basic`/,
    ],
    [
      lines,
      'sku=text-basic-input-tokn',
      'sku',
      /there is no SKU `text-basic-input-tokn`: did you mean/,
    ],
    [lines, 'surface=chats', 'surface', /there is no surface `chats`/],
    ['/console/ledger/summary', 'user_id=nobody-x', 'user_id', /there is no user `nobody-x`/],
    ['/console/ledger/movements', 'tenant_id=tenant_dema', 'tenant_id', /there is no tenant `/],
    ['/console/failed', 'token_id=token_x', 'token_id', /there is no token `token_x`/],
    ['/console/periods', 'tenant_id=tenant_dema', 'tenant_id', /did you mean `/],
    [activity, 'user_id=nobody-x', 'user_id', /there is no user `nobody-x`/],
    [lines, 'from=tomorrow', 'from', /from must be/],
    [lines, 'from=2026-01-02&to=2026-01-01', 'from', /from must not be later than to/],
    [lines, 'currency=EUR', 'currency', /currency must be/],
  ] as const
  for (const [path, query, param, words] of tries) {
    const answer = await ask(`${path}?${query}`, { cookie: operator })
    t.equal(answer.status, 400, query)
    t.match(answer.text, words, query)
    t.match(answer.text, /<p id="filter-fault" class="fault" role="alert">/, query)
    t.match(answer.text, new RegExp(`name="${param}"`), query)
    const marked = /aria-invalid="true"/.test(answer.text)
    t.equal(marked, !['sku', 'surface'].includes(param), `${query} has a field`)
  }
  const { tenantId } = other
  await addUser(access, { tenantId, userId: 'annabel', name: 'Annabel' })
  await stack.caughtUp()
  const outsider = await signInToConsole(url, demo.adminToken)
  const unseen = await ask(`${lines}?tenant_id=${tenantId}&user_id=annabe`, { cookie: outsider })
  t.equal(unseen.status, 303, 'no name of a tenant before a reason was given')
  t.match(unseen.headers.get('location'), /^\/console\/view-reason\?tenant_id=/)
  await giveViewReason(url, outsider, tenantId)
  const seen = await ask(`${lines}?tenant_id=${tenantId}&user_id=annabe`, { cookie: outsider })
  t.match(seen, { status: 400, text: /did you mean `annabel`/ })
})

t.test('a page is in the zone of the tenant, and its links keep it', async (t) => {
  const { tenantId, userId } = other
  const wanted = { tenantId, userId, kind: 'query', name: 'zones' } as const
  const { secret } = await issueToken(access, { ...wanted, scope: { level: 'all_users' } })
  await stack.caughtUp()
  const own = await signInToConsole(url, secret)
  /** The zone that a page names, which all of its links have unless none is needed. */
  const zoneOf = async (path: string, cookie: string) => {
    const { status, text } = await ask(path, { cookie })
    t.equal(status, 200, path)
    const zone = /<summary>times in ([^<]*)</.exec(text)?.[1] ?? 'none'
    const kept = [...text.matchAll(/ href="(\/console[^"]*)"/g)]
      .map(([, href = '']) => href)
      .filter((href) => !/\/(?:static|files)\/|\/(?:proof|file(?:\?.*)?)$/.test(href))
      .map((href) => href.includes(`tz=${encodeURIComponent(zone)}`))
    t.same([...new Set(kept)], [zone !== 'UTC' || path.includes('tz=')], `${path}: ${zone}`)
    return zone
  }
  t.equal(await zoneOf('/console', own), 'UTC')
  const timeZone = 'Asia/Tokyo'
  await setSetting(access, 'budgets', { tenantId, wanted: { timeZone, budgets: [] } })
  await until(async () => (await zoneOf('/console', own)) === timeZone)
  t.equal(await zoneOf('/console/ledger/lines?tz=Europe%2FBerlin', own), 'Europe/Berlin')
  t.equal(await zoneOf('/console/failed?tz=UTC', own), 'UTC', 'it was chosen')
  t.equal(await zoneOf('/console', operator), 'UTC', 'of no tenant')
  await giveViewReason(url, operator, tenantId)
  const places = [
    `?tenant_id=${tenantId}`,
    `/tenants/${tenantId}`,
    `/tenants/${tenantId}/activity`,
    `/tenants/${tenantId}/billing`,
    `/life/${otherCallId}`,
    `/ledger/lines/${otherCallId}:1`,
    `/ledger/lines?user_id=${userId}`,
  ]
  for (const path of places) t.equal(await zoneOf(`/console${path}`, operator), timeZone, path)
  const lines = await ask('/console/ledger/lines', { cookie: own })
  t.match(lines.text, /<input type="hidden" name="tz" value="Asia\/Tokyo"/)
  t.match(lines.text, /<form class="find" action="\/console\/find\?tz=Asia%2FTokyo"/)
  const sent = await ask(`/console/find?tz=Asia%2FTokyo`, { cookie: own, form: { q: otherCallId } })
  const found = sent.headers.get('location') ?? ''
  t.equal(found, `/console/find?q=${otherCallId}&tz=Asia%2FTokyo`)
  const opened = await ask(found, { cookie: own })
  t.equal(opened.headers.get('location'), `/console/life/${otherCallId}?tz=Asia%2FTokyo`)
  const note = `/console/life/${otherCallId}/note?tz=Asia%2FTokyo`
  const refused = await ask(note, { cookie: operator, form: { text: ' ', key: 'z1' } })
  t.match(refused, { status: 400, text: /times in Asia\/Tokyo/ })
  const noted = await ask(note, { cookie: operator, form: { text: 'seen', key: 'z2' } })
  t.match(noted.headers.get('location'), /tz=Asia%2FTokyo/)
  const profile = { legal_name: 'Other', address: ['1 Street'], country: 'IN' }
  const terms = { time_zone: 'Asia/Kolkata', number_prefix: 'OTHER', terms: 'postpaid' }
  const more = { emails: [], language: 'en', tax_id: null, po_number: null, grace_hours: 24 }
  const put = await call(`${url}/api/admin/tenants/${tenantId}/billing`, {
    method: 'PUT',
    token: demo.adminToken,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...profile, ...terms, ...more }),
  })
  t.equal(put.status, 200, put.text)
  await until(async () => (await zoneOf('/console', own)) === 'Asia/Kolkata')
})

t.test('failures and refusals are those of the API, within the scope of the reader', async (t) => {
  for (const token of [demo.modelToken, other.modelToken])
    await call(`${url}/v1/chat/completions`, {
      method: 'POST',
      token,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'text-basic',
        messages: [{ role: 'user', content: 'x [[sandbox http=400]]' }],
      }),
    })
  await stack.caughtUp()
  const list = async (name: string) =>
    (await call(`${url}/api/query/v1/${name}`, { token: demo.queryToken })).body.data.items
  await until(async () => (await list('refusals')).length > 0)
  const [failures, refusals] = [await list('failures'), await list('refusals')]
  const { text } = await ask('/console/failed', { cookie: reader })
  t.ok(failures.length > 0)
  for (const { id, code } of failures) t.ok(text.includes(id) && text.includes(code), id)
  for (const { samples } of refusals) t.ok(text.includes(samples[0].request_id))
  const [{ request_id: refused }] = refusals[0].samples
  t.match(text, `href="/console/failed/request/${refused}"`)
  const page = await ask(`/console/failed/request/${refused}`, { cookie: reader })
  t.match(page, { status: 200, text: /Last refused requests of this token/ })
  t.match(page.text, `<code>${refusals[0].code}</code>`)
  const { total } = (await call(`${url}/api/query/v1/speed`, { token: demo.queryToken })).body.data
  const speed = await ask('/console/speed', { cookie: reader })
  t.match(speed, { status: 200, text: /By hour/ })
  t.match(speed.text, new RegExp(`<dt>failed</dt><dd>${total.failed}</dd>`))
  const ofHours = [...speed.text.matchAll(/name="Requests by hour" aria-label="([^"]+)"/g)]
  t.ok(ofHours.length >= 24, 'the chart has every hour, also one without requests')
  const counted = ofHours.map(([, words = '']) => /requests (\d+), failed (\d+)/.exec(words) ?? [])
  for (const [place, sum] of [total.requests, total.failed].entries())
    t.equal(
      counted.reduce((all, counts) => all + Number(counts[place + 1] ?? 0), 0),
      sum,
      'the hours of the chart add up to the total',
    )
  const [, file = ''] = /href="([^"]+format=csv)">CSV/.exec(speed.text) ?? []
  t.match(await ask(file.replaceAll('&amp;', '&'), { cookie: reader }), {
    status: 200,
    text: /^key,requests,answered,failed,error_rate,median_ms,p95_ms,first_byte_median_ms,first_byte_p95_ms\r?\n[^]*text-basic,/,
  })
  t.match(speed.text, />text-basic</, 'the groups that are asked for stand next to the hours')
  t.match(await ask('/console/speed?by=channel', { cookie: reader }), { status: 403 })
  t.match(await ask('/console/speed?by=channel', { cookie: operator }), { status: 200 })
  t.notMatch(text, other.tenantId)
  // The end of a failed call is written after its answer.
  await until(async () => {
    const all = await ask('/console/failed', { cookie: operator })
    return all.text.includes(other.tenantId)
  })
  const none = await ask(`/console/failed?tenant_id=${other.tenantId}`, { cookie: reader })
  t.match(none, { status: 403, text: /may not read that tenant_id/ })
})

t.test('support writes notes and asks again from a page: once, and with its reasons', async (t) => {
  const page = `/console/life/${String(task.body.id)}`
  const keyOf = (text: string): string => /name="key" value="([^"]+)"/.exec(text)?.[1] ?? ''
  const shown = await ask(page, { cookie: operator })
  t.match(shown.text, /Operators can read it; the tenant cannot/)
  const form = { text: 'The customer was called.\nSee <b>4711</b>.', key: keyOf(shown.text) }
  for (const send of ['first', 'again, as by a double click'])
    t.match(await ask(`${page}/note`, { cookie: operator, form }), { status: 303 }, send)
  const after = await ask(page, { cookie: operator })
  t.equal(after.text.split('The customer was called.').length - 1 > 0, true)
  t.match(after.text, 'See &lt;b>4711&lt;/b>.')
  const { body } = await call(`${url}/api/query/v1/lives/${String(task.body.id)}`, {
    token: demo.queryToken,
  })
  t.same(body.data.notes, [], 'the tenant does not see it')
  t.not(keyOf(after.text), form.key, 'the next form has its own key')
  const other = { text: 'Another text.', key: form.key }
  const refused = await ask(`${page}/note`, { cookie: operator, form: other })
  t.match(refused, { status: 409, text: /role="alert"/ })
  t.match(refused.text, '>Another text.</textarea>', 'what was written is kept')
  const tries = [
    ['note', { text: ' ', key: 'k1' }, 400],
    ['note', { text: 'x', key: 'no key' }, 400],
    ['poll', { text: 'why not', key: 'k2' }, 409],
    ['give-up', { text: 'why not', key: 'k3' }, 409],
  ] as const
  for (const [name, sent, status] of tries) {
    const answer = await ask(`${page}/${name}`, { cookie: operator, form: sent })
    t.equal(answer.status, status, `${name}: ${answer.text.slice(-600)}`)
  }
  t.match(await ask(`${page}/note`, { cookie: reader, form: { text: 'x', key: 'k4' } }), {
    status: 403,
    text: /session of an admin token/,
  })
  t.match(await ask('/console/life/call_none/note', { cookie: operator, form }), { status: 404 })
  t.match(
    await ask(`${page}/note`, { cookie: operator, form, headers: { 'sec-fetch-site': 'none' } }),
    { status: 403, text: /not sent from the console/ },
  )
  t.notMatch((await ask(page, { cookie: reader })).text, /<textarea name="text"/)
})

t.test('the page of proposed prices and approvals has both sides', async (t) => {
  const tenantId = 'cheaper'
  await openTenant(access, { tenantId, name: 'Cheaper' })
  const limits = { limits: [{ currency: 'USD', above: '1' }], lapseHours: 1 } as const
  await setSetting(access, 'approvals', { tenantId, wanted: limits })
  const put = (setting: string, body: object) =>
    call(`${url}/api/admin/tenants/${tenantId}/${setting}`, {
      method: 'PUT',
      token: demo.adminToken,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const own = (price: string) => ({
    sku: 'web-search-call',
    currency: 'USD',
    unit: 'call',
    per: 1_000,
    price,
  })
  const dear = await put('prices', {
    expected_revision: 0,
    multiplier: '2',
    prices: [own('987654')],
  })
  t.equal(dear.status, 200, dear.text)
  const cheap = await put('prices', { expected_revision: 1, multiplier: '0.5', prices: [own('3')] })
  const raise = { limits: [{ currency: 'USD', above: '77' }], lapse_hours: 2 }
  const raised = await put('approvals', raise)
  await stack.caughtUp()
  await giveViewReason(url, operator, tenantId)
  const textOf = async (id: string) => {
    const { text } = await ask(`/console/proposals/${tenantId}~${id}`, { cookie: operator })
    return text
      .replaceAll(/<\/(?:dt|td|dd)>/g, ' | ')
      .replaceAll(/<[^>]*>/g, '')
      .replaceAll(/\s+/g, ' ')
  }
  const prices = await textOf(cheap.body.data.id)
  t.match(prices, /multiplier when it was proposed \| 2 \|/)
  t.match(prices, /multiplier after \| 0\.5 \|/)
  t.match(
    prices,
    /web-search-call \| USD \| [\d.]+ USD \/ 1 000 call \| 987 654 USD \/ 1 000 call \| 3 USD \/ 1 000 call/,
  )
  t.match(prices, /It replaces the prices of cheaper, if their revision is still 1/)
  const approvals = await textOf(raised.body.data.id)
  t.match(approvals, /USD \| 1 USD \| 77 USD \|/)
  t.match(
    approvals,
    /proposals lapse after \(now\) \| 1 h \| proposals lapse after \(proposed\) \| 2 h/,
  )
  const list = await ask('/console/proposals', { cookie: operator })
  t.match(list.text, /list × 0\.5, 1 own prices \(2\) instead of list × 2/)
})

t.test('a second user approves what another proposed: once, and with figures before', async (t) => {
  const tenantId = 'waiting'
  await openTenant(access, { tenantId, name: 'Waiting' })
  await addUser(access, { tenantId: demo.tenantId, userId: 'second', name: 'Second' })
  const limits = { limits: [{ currency: 'USD', above: '1' }], lapseHours: 1 } as const
  await setSetting(access, 'approvals', { tenantId, wanted: limits })
  const propose = (grantId: string, amount: string) =>
    call(`${url}/api/admin/tenants/${tenantId}/credit/grants`, {
      method: 'POST',
      token: demo.adminToken,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        currency: 'USD',
        amount,
        reason: 'invoice <17>',
        grant_id: grantId,
        credit: 'promotional',
        reference: 'INV-17',
      }),
    })
  const scope = { level: 'all_tenants' } as const
  const wanted = { tenantId: demo.tenantId, userId: 'second', kind: 'admin', name: 'two' } as const
  const cookieOf = async (role?: 'finance' | 'support') => {
    const { secret } = await issueToken(access, { ...wanted, scope, ...(role && { role }) })
    await stack.caughtUp()
    return signInToConsole(url, secret)
  }
  // A token that is younger than the proposal would not approve it.
  const [finance, support] = [await cookieOf('finance'), await cookieOf('support')]
  const { status, body } = await propose('g1', '1234.5')
  t.equal(status, 202)
  const path = `/console/proposals/${tenantId}~${body.data.id}`
  await stack.caughtUp()
  const list = await ask('/console/proposals', { cookie: operator })
  t.match(list, { status: 200, text: /invoice &lt;17>/ })
  t.match(await ask(path, { cookie: operator }), { status: 303 }, 'a reason is given first')
  await giveViewReason(url, operator, tenantId)
  t.match(list.text, `href="${path.replace('~', '%7E')}"`.replace('%7E', '~'))
  const shown = await ask(path, { cookie: operator })
  t.match(shown.text, /It posts 1234\.5 USD to waiting/)
  const factOf = (name: string): string =>
    (new RegExp(`<dt>${name}</dt><dd>(.*?)</dd>`).exec(shown.text)?.[1] ?? '')
      .replaceAll(/<[^>]*>/g, '')
      .replaceAll(/\s/g, ' ')
  const terms = ['credit', 'reference', 'grant', 'balance before', 'balance after'].map(factOf)
  t.strictSame(terms, ['promotional', 'INV-17', 'g1', '0 USD', '1 234.5 USD'])
  const own = await ask(`${path}/approve`, { cookie: operator, form: { key: 'k1' } })
  t.match(own, { status: 403, text: /role="alert"/ }, 'its own proposer does not approve it')
  for (const cookie of [finance, support]) await giveViewReason(url, cookie, tenantId)
  t.match(await ask(path, { cookie: support }), {
    text: /An operator with the role finance, or without a role, approves/,
  })
  t.match(await ask(`${path}/approve`, { cookie: support, form: { key: 'k2' } }), { status: 403 })
  t.match(await ask('/console/proposals', { cookie: reader }), { status: 403, text: /admin token/ })
  for (const send of ['once', 'again'])
    t.match(
      await ask(`${path}/approve`, { cookie: finance, form: { key: 'k3' } }),
      { status: 303 },
      send,
    )
  t.match(await ask(path, { cookie: finance }), { text: /This proposal was approved/ })
  const credit = await call(`${url}/api/admin/tenants/${tenantId}/credit`, {
    token: demo.adminToken,
  })
  t.match(credit.text, '"granted":"1234.5')
  const second = (await propose('g2', '7')).body.data.id
  await stack.caughtUp()
  const other = `/console/proposals/${tenantId}~${second}`
  t.match(await ask(`${other}/reject`, { cookie: finance, form: { key: 'k4', reason: ' ' } }), {
    status: 400,
  })
  const reason = { key: 'k5', reason: 'not paid' }
  t.match(await ask(`${other}/reject`, { cookie: finance, form: reason }), { status: 303 })
  t.match(await ask(other, { cookie: finance }), { text: /not paid/ })
  for (const missing of [`${tenantId}~proposal_none`, 'none~proposal_none', 'none', '~', '%00'])
    t.match(
      await ask(`/console/proposals/${missing}`, { cookie: operator }),
      { status: missing === '%00' ? 400 : 404 },
      missing,
    )
})

t.test('the files of the console are kept by the browser, and small', async (t) => {
  const { text } = await ask('/console/sign-in')
  const files = [...text.matchAll(/(?:href|src)="(\/console\/static\/[^"]+)"/g)].map(
    ([, path = '']) => path,
  )
  t.equal(files.length, 3)
  let bytes = 0
  for (const path of files) {
    const answer = await fetch(`${url}${path}`)
    t.match(answer.headers.get('cache-control'), 'immutable', path)
    t.equal(answer.headers.get('content-encoding'), 'gzip')
    bytes += Number(answer.headers.get('content-length'))
  }
  const life = await fetch(`${url}/console/life/${callId}`, { headers: { cookie: operator } })
  t.equal(life.headers.get('content-encoding'), 'gzip')
  bytes += (await life.arrayBuffer()).byteLength
  t.ok(bytes < 60_000, `${bytes} bytes`)
})
