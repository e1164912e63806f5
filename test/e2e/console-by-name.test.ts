import t, { type Test } from 'tap'
import { disableToken, issueToken } from '../../src/app/accounts/account-commands.ts'
import type { TokenRole } from '../../src/domain/token/events.ts'
import { sha256Hex } from '../../src/kernel/ids.ts'
import { startOidcProvider } from '../helpers/oidc-provider.ts'
import { chromium } from '../helpers/requirements.ts'
import { startStack } from '../helpers/stack.ts'
import { withPage } from './support/browser.ts'
import { call } from './support/client.ts'
import { askConsole, signInToConsole } from './support/console.ts'

/** People who sign in to the console by name, at a real provider. */

const oidc = await startOidcProvider()
const stack = await startStack({
  env: {
    OIDC_ISSUER: oidc.settings.issuer,
    OIDC_CLIENT_ID: oidc.settings.clientId,
    OIDC_CLIENT_SECRET: oidc.settings.clientSecret,
    OIDC_SCOPE: oidc.settings.scope,
    OIDC_ROLES:
      'desk=support:all_users:tenant_demo,ops%2Fhq=operator:all_tenants:tenant_demo,lost=finance:all_users:gone',
  },
})
const { url, demo, other, access } = stack
oidc.serve(`${url}/console/oidc/callback`)
t.teardown(async () => {
  await stack.stop()
  await oidc.stop()
})

const BEGIN = '/console/oidc/begin?next=%2Fconsole%2Ffailed'

async function invite(subject: string, role: TokenRole = 'support'): Promise<string> {
  const { tenantId, userId } = demo
  const person = { tenantId, userId, name: subject, subject, role }
  const scope = { level: 'all_users' as const }
  const { tokenId } = await issueToken(access, { ...person, kind: 'admin', scope })
  await stack.caughtUp()
  return tokenId
}

/** Goes to the provider and back; `cookie` is that of the begun sign-in. */
async function signIn(email: string, groups?: unknown) {
  oidc.person = { email, ...(groups === undefined ? {} : { groups }) }
  const begun = await askConsole(url, BEGIN)
  const back = await oidc.signIn(begun.headers.get('location') ?? '')
  const path = back.slice(url.length)
  const answer = await askConsole(url, path, { cookie: begun.cookie })
  const session = answer.headers.getSetCookie().find((set) => set.startsWith('tollgate='))
  return { begun, path, answer, session: session?.split(';', 1)[0] }
}

const shows = async (t: Test, cookie: string | undefined, status: number) =>
  t.equal((await askConsole(url, '/console/failed', { cookie })).status, status)

t.test('303 to the page after signing in by name, with the rights of the token', async (t) => {
  const tokenId = await invite('mia@example.com')
  const { answer, session, begun, path } = await signIn('Mia@example.com')
  t.match(answer, { status: 303 }, answer.text)
  t.equal(answer.headers.get('location'), '/console/failed')
  t.match(await askConsole(url, '/console/failed', { cookie: session }), {
    text: /mia@example\.com/,
  })
  t.match(await askConsole(url, '/console/ledger/lines', { cookie: session }), { status: 403 })
  t.match(
    await askConsole(url, path, { cookie: begun.cookie }),
    { status: 403, text: /not valid for this sign-in/ },
    'the same answer again',
  )
  const code = new URL(path, url).searchParams.get('code') ?? 'none'
  const secrets = [code, oidc.settings.clientSecret, begun.cookie ?? 'none', session ?? 'none']
  for (const secret of secrets) t.notOk(stack.logged().includes(secret), 'no secret is logged')
  t.match(stack.logged(), tokenId, 'the sign-in is')
  await disableToken(access, { tokenId, reason: 'left' })
  await stack.caughtUp()
  await shows(t, session, 303)
  t.match((await signIn('mia@example.com')).answer, { status: 403, text: /has no access here/ })
})

t.test('403 without an invitation, and for an answer that no sign-in waits for', async (t) => {
  const { answer, session } = await signIn('eve@example.com')
  t.match(answer, { status: 403, text: /eve@example\.com has no access here/ })
  t.equal(session, undefined)
  oidc.person = { email: '<b>eve</b>@example.com' }
  const hostile = await signIn('<b>eve</b>@example.com')
  t.match(hostile.answer.text, /&lt;b>eve/)
  for (const query of ['', '?code=x&state=y', '?error=access_denied', '?state=1&state=2'])
    t.match(await askConsole(url, `/console/oidc/callback${query}`), {
      status: 403,
      text: /older than ten minutes/,
    })
})

/** The cookie of a person who chooses between tokens. */
const personIn = ({ headers }: { readonly headers: Headers }) =>
  headers
    .getSetCookie()
    .find((set) => set.startsWith('tollgate-person='))
    ?.split(';', 1)[0]

/** Invites over HTTP. */
const inviteBy = (token: string, members: object) =>
  call(`${url}/api/admin/tokens`, {
    token,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ kind: 'admin', name: 'invited', role: 'finance', ...members }),
  })

t.test(
  '200 for an invitation over HTTP, within the scope of the token, without a secret',
  async (t) => {
    const { tenantId, userId } = demo
    const scope = { level: 'all_users' as const }
    const ours = { tenant_id: tenantId, user_id: userId, scope, subject: 'Zoe@example.com' }
    const administrator = { tenantId, userId, kind: 'admin' as const, name: 'ours', scope }
    const { secret } = await issueToken(access, administrator)
    await stack.caughtUp()
    const invited = await inviteBy(secret, ours)
    t.match(invited, { status: 200, body: { data: { secret: null, subject: 'zoe@example.com' } } })
    t.match(await inviteBy(secret, { ...ours, scope: { level: 'all_tenants' } }), {
      status: 403,
      body: { error: { code: 'scope_denied', param: 'scope' } },
    })
    const foreign = { tenant_id: other.tenantId, user_id: other.userId }
    t.match(await inviteBy(secret, { ...ours, ...foreign }), { status: 404 })
    t.match(await inviteBy(secret, { ...ours, kind: 'model', scope: undefined, role: undefined }), {
      status: 400,
      body: { error: { param: 'subject' } },
    })
    t.match((await signIn('zoe@example.com')).answer, { status: 303 })

    // The administrator of another tenant takes no one away from this one.
    await inviteBy(demo.adminToken, { ...ours, ...foreign, role: 'support' })
    await stack.caughtUp()
    const { answer } = await signIn('zoe@example.com')
    t.equal(answer.headers.get('location'), '/console/oidc/access')
    const person = answer.headers.getSetCookie().find((set) => set.startsWith('tollgate-person='))
    const cookie = person?.split(';', 1)[0]
    const page = await askConsole(url, '/console/oidc/access', { cookie })
    t.match(page.text, /, as finance<[^]*, as support<|, as support<[^]*, as finance</)
    const choose = (token: string, by = cookie) =>
      askConsole(url, '/console/oidc/access', { cookie: by, form: { token } })
    t.match(
      await choose(invited.body.data.id, 'tollgate-person=x.y'),
      { status: 403 },
      'without the cookie',
    )
    t.match(await choose('token_of_others'), { status: 403 })
    const chosen = await choose(invited.body.data.id)
    t.match(chosen, { status: 303 })
    t.equal(chosen.headers.get('location'), '/console/failed')
  },
)

const tokensBy = async (email: string) => {
  const path = `${url}/api/admin/tokens?tenant_id=${demo.tenantId}&limit=100`
  const { body } = await call(path, { token: demo.adminToken })
  const items: Record<'id' | 'subject' | 'claim' | 'user_id' | 'disabled_at', string>[] =
    body.data.items
  return items.filter(({ subject }) => subject === email)
}

t.test('a claim gives a role until a sign-in at which the provider does not', async (t) => {
  for (const groups of [undefined, 'Desk', ['desk '], [['desk']], { desk: true }, 1, 'ops'])
    t.match((await signIn('sam@example.com', groups)).answer, {
      status: 403,
      text: /sam@example\.com has no access here/,
    })
  t.match((await signIn('sam@example.com', 'lost')).answer, {
    status: 403,
    text: /The tenant gone that OIDC_ROLES names does not exist/,
  })
  t.same(await tokensBy('sam@example.com'), [])
  const { answer, session } = await signIn('sam@example.com', ['x', 'desk'])
  t.match(answer, { status: 303 }, answer.text)
  const page = await askConsole(url, '/console/failed', { cookie: session })
  t.match(page, { status: 200, text: /sam@example\.com/ })
  t.match(await askConsole(url, '/console/ledger/lines', { cookie: session }), { status: 403 })
  await signIn('sam@example.com', 'desk')
  const [first, ...more] = await tokensBy('sam@example.com')
  t.match(first, { claim: 'desk', role: 'support', disabled_at: null, issued_by: null })
  t.match(first?.user_id, /^person-/, 'a user that no one else has')
  t.same(more, [], 'one token at all sign-ins')
  t.match((await signIn('sam@example.com', ['lapsed'])).answer, { status: 403 })
  await shows(t, session, 303)
})

t.test('an event of a person with a role by claim names the person', async (t) => {
  const { session } = await signIn('ops@example.com', ['ops/hq'])
  const page = await askConsole(url, `/console/tenants/${demo.tenantId}`, { cookie: session })
  const [, key = ''] = /name="key" value="([^"]*)"/.exec(page.text) ?? []
  const form = { key, subject: 'lee@example.com', user: demo.userId, given_role: 'support' }
  const path = `/console/tenants/${demo.tenantId}/invite`
  t.match(await askConsole(url, path, { cookie: session, form }), { status: 303 })
  const [operator] = await tokensBy('ops@example.com')
  const [invited] = await tokensBy('lee@example.com')
  t.match(invited, { issued_by: operator?.id, claim: null })
  await stack.caughtUp()
  const changes = await askConsole(url, '/console/changes', { cookie: session })
  t.match(changes.text, /ops@example\.com/)
})

t.test('an invitation comes before a claim, and takes no access elsewhere away', async (t) => {
  const { session } = await signIn('kai@example.com', 'desk')
  const { session: operator } = await signIn('ida@example.com', 'ops/hq')
  await shows(t, session, 200)
  for (const email of ['kai@example.com', 'ida@example.com']) await invite(email, 'finance')
  const invited = await signIn('kai@example.com', 'desk')
  t.match(await askConsole(url, '/console/ledger/lines', { cookie: invited.session }), {
    status: 200,
  })
  const ended = (await tokensBy('kai@example.com')).find(({ claim }) => claim === 'desk')
  t.not(ended?.disabled_at, null)
  await shows(t, session, 303)

  const { answer } = await signIn('ida@example.com', 'ops/hq')
  t.equal(answer.headers.get('location'), '/console/oidc/access')
  const page = await askConsole(url, '/console/oidc/access', { cookie: personIn(answer) })
  t.match(page.text, /All tenants, as operator/)
  await shows(t, operator, 200)
  const claimed = (await tokensBy('ida@example.com')).find(({ claim }) => claim === 'ops/hq')
  const form = { token: claimed?.id ?? '' }
  const chosen = await askConsole(url, '/console/oidc/access', { cookie: personIn(answer), form })
  t.equal(chosen.headers.get('location'), '/console/failed')
})

t.test('another site signs no one in, and a next page is one of the console', async (t) => {
  const headers = { 'sec-fetch-site': 'cross-site' }
  const sent = await askConsole(url, BEGIN, { headers })
  t.equal(sent.headers.get('location'), '/console/sign-in?next=%2Fconsole%2Ffailed')
  t.equal(sent.cookie, undefined)
  await invite('kim@example.com')
  oidc.person = { email: 'kim@example.com' }
  const begun = await askConsole(url, '/console/oidc/begin?next=//evil.example')
  const back = await oidc.signIn(begun.headers.get('location') ?? '')
  const answer = await askConsole(url, back.slice(url.length), { cookie: begun.cookie })
  t.equal(answer.headers.get('location'), '/console')
})

t.test('a provider that is away locks out no one who has a token', async (t) => {
  oidc.override = (_request, response) => {
    response.writeHead(500).end('a secret of the provider')
    return true
  }
  t.teardown(() => (oidc.override = undefined))
  const begun = await askConsole(url, BEGIN)
  // What the provider says of itself is known by now.
  t.equal(begun.status, 303)
  const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state')
  const path = `/console/oidc/callback?code=x&state=${state}&iss=${oidc.settings.issuer}`
  const answer = await askConsole(url, path, { cookie: begun.cookie })
  t.match(answer, { status: 403, text: /name="token"/ }, 'the form for a token is there')
  t.notMatch(answer.text, /a secret of the provider/)
  t.match(await signInToConsole(url, demo.adminToken), /^tollgate=tcs-/)
})

t.test('a person follows the link in a browser', { skip: chromium.missing }, async (t) => {
  await invite('ada@example.com')
  oidc.person = { email: 'ada@example.com' }
  await withPage(async (page) => {
    const refused: string[] = []
    page.on('console', (message) => {
      if (/policy/i.test(message.text())) refused.push(message.text())
    })
    await page.goto(`${url}/console/failed`)
    await page.getByRole('link', { name: 'Sign in by name' }).click()
    await page.waitForURL(`${url}/console/failed`)
    await page.locator('.who summary').click()
    t.match(await page.locator('.who').innerText(), /ada@example\.com/)
    t.same(refused, [], 'the policy of the console refuses nothing')
  })
})

t.test(
  'sessions are listed and ended by their holder, and by administrators of the tenant',
  async (t) => {
    const list = (cookie: string) => askConsole(url, '/console/sessions', { cookie })
    const end = (cookie: string, session: string) =>
      askConsole(url, '/console/sessions', { cookie, form: { session } })
    const named = ({ text }: { readonly text: string }) =>
      [...text.matchAll(/name="session" value="([0-9a-f]{64})"/g)].map(([, hash = '']) => hash)
    const [foreign, mine, second] = [
      await signInToConsole(url, other.queryToken),
      await signInToConsole(url, demo.queryToken),
      await signInToConsole(url, demo.queryToken),
    ]
    const own = named(await list(mine))
    t.equal(own.length, 2, 'both of the token, and no other')
    t.match(await list(mine), { text: /\(yours\)/ })
    t.match(await end(foreign, own[0] ?? ''), { status: 303 }, 'as one that has ended')
    t.equal(named(await list(mine)).length, 2)
    const theirs = sha256Hex(second.slice('tollgate='.length))
    t.same(own.includes(theirs), true)
    t.match(await end(mine, theirs), { status: 303 })
    await shows(t, second, 303)
    await shows(t, mine, 200)
    const { tenantId, userId } = demo
    const scope = { level: 'all_users' as const }
    const admin = { tenantId, userId, kind: 'admin' as const, name: 'administrator', scope }
    const { secret } = await issueToken(access, admin)
    await stack.caughtUp()
    const administrator = await signInToConsole(url, secret)
    const seen = named(await list(administrator))
    t.ok(seen.includes(sha256Hex(mine.slice('tollgate='.length))))
    t.notOk(seen.includes(sha256Hex(foreign.slice('tollgate='.length))), 'of its tenant alone')
    await end(administrator, sha256Hex(foreign.slice('tollgate='.length)))
    await shows(t, foreign, 200)
    await end(administrator, sha256Hex(mine.slice('tollgate='.length)))
    await shows(t, mine, 303)
    const operator = await signInToConsole(url, demo.adminToken)
    t.ok(named(await list(operator)).includes(sha256Hex(foreign.slice('tollgate='.length))))
    t.match(await end(operator, 'x'), { status: 400, text: /names a session of the list/ })
  },
)
