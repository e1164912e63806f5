import t from 'tap'
import {
  act,
  begin,
  DOMESTIC,
  done,
  marked,
  OVERSEAS,
  press,
  refusedWith,
  type Signing,
} from './asset-client.ts'
import { sandboxFor } from './client.ts'

const CALLBACK = 'https://gw.example.com/real-person/callback'
const GONE = { status: 404, code: 'ResourceNotFound.VisualValidateSession' }
const MINUTE_MS = 60_000

/** The query with which a browser is sent back. */
function queryOf(response: Response): Readonly<Record<string, string>> {
  return Object.fromEntries(new URL(response.headers.get('location') ?? '').searchParams)
}

function resultOf(url: string, BytedToken: string, signing: Signing = {}) {
  return act(url, 'GetVisualValidateResult', { BytedToken }, signing)
}

void t.test('a passing person has a page, a redirect and a group', async (t) => {
  const { url } = await sandboxFor(t)
  const begun = await act(url, 'CreateVisualValidateSession', { CallbackURL: CALLBACK })
  t.strictSame(Object.keys(begun.json), ['BytedToken', 'H5Link', 'CallbackURL'], 'no envelope')
  const { BytedToken: token, H5Link: link, CallbackURL } = begun.json
  t.match(token, /^\d{14}[0-9A-F]{32}$/)
  t.equal(CallbackURL, CALLBACK)
  t.match(link, /\/verify\?token=[0-9a-f]+&lng=en$/)
  t.notOk(link.includes(token), 'who has the link has no right to the result')
  t.strictSame((await resultOf(url, token)).json, { GroupId: '' }, 'pending')

  const page = await fetch(link)
  t.equal(page.status, 200)
  t.equal((await resultOf(url, token)).json.GroupId, '', 'to look at it is not to pass it')
  const back = await press(link, 'pass')
  t.equal(back.status, 303)
  t.ok(back.headers.get('location')?.startsWith(`${CALLBACK}?`))
  t.strictSame(queryOf(back), {
    bytedToken: token,
    resultCode: '10000',
    algorithmBaseRespCode: '0',
    reqMeasureInfoValue: '1',
    verify_type: 'real_time',
  })
  const { GroupId } = (await resultOf(url, token)).json
  t.match(GroupId, /^group-\d{14}-[a-z0-9]{5}$/)
  t.strictSame((await resultOf(url, token)).json, { GroupId }, 'the same each time')
  t.match(await done(url, 'GetAssetGroup', { Id: GroupId }), { GroupType: 'LivenessFace' })
})

void t.test('a failing person has another resultCode, no group, and 404', async (t) => {
  const { url } = await sandboxFor(t)
  const { token, link } = await begin(url, `${CALLBACK}?mine=1`)
  const query = queryOf(await press(link, 'fail'))
  t.match(query, { mine: '1', bytedToken: token })
  t.not(query['resultCode'], '10000')
  t.same(await refusedWith(url, 'GetVisualValidateResult', { BytedToken: token }), GONE)
  const { TotalCount } = await done(url, 'ListAssetGroups', {
    Filter: { GroupType: 'LivenessFace' },
  })
  t.equal(TotalCount, 0)
})

void t.test('a link is valid for one check: 410 after it, 404 for an unknown link', async (t) => {
  const { url } = await sandboxFor(t)
  const { token, link } = await begin(url, CALLBACK)
  const both = await Promise.all([press(link, 'pass'), press(link, 'pass')])
  t.same(new Set(both.map(({ status }) => status)), new Set([303, 410]))
  t.equal((await press(link, 'fail')).status, 410)
  t.equal((await fetch(link)).status, 410)
  t.match((await resultOf(url, token)).json.GroupId, /^group-/, 'the first one counts')
  t.equal((await fetch(`${url}/verify?token=${token}`)).status, 404)
  t.equal((await fetch(`${url}/verify`)).status, 404)
  t.equal((await press(`${url}/verify?token=x`, 'pass')).status, 404)
})

void t.test('an invalid choice is a 400 and does not use up the link', async (t) => {
  const { url } = await sandboxFor(t)
  const { link } = await begin(url, CALLBACK)
  t.equal((await press(link, 'maybe')).status, 400)
  t.equal((await press(link, 'pass')).status, 303)
})

void t.test('the page is in English, and Chinese in both scripts', async (t) => {
  const { url } = await sandboxFor(t)
  const { link } = await begin(url, CALLBACK)
  const cases = [
    ['en', 'en', 'Pass the check'],
    ['zh', 'zh-Hans', '通过验证'],
    ['zh-Hant', 'zh-Hant', '通過驗證'],
    ['fr', 'en', 'Pass the check'],
    ['constructor', 'en', 'Pass the check'],
  ] as const
  for (const [lng, language, pass] of cases) {
    const page = await fetch(link.replace('lng=en', `lng=${lng}`))
    const html = await page.text()
    t.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
    t.equal(page.headers.get('referrer-policy'), 'no-referrer')
    t.equal(page.headers.get('cache-control'), 'no-store')
    t.ok(html.includes(`<html lang="${language}">`), lng)
    t.ok(html.includes(`<button id="pass" type="submit" name="outcome" value="pass">${pass}<`), lng)
    t.match(html, /<button id="fail" type="submit" name="outcome" value="fail">/)
    t.match(html, /<form method="post">/)
  }
})

void t.test('a credential expires after half an hour of the scaled clock', async (t) => {
  const sandbox = await sandboxFor(t, { timeScale: 0.5 })
  const { url } = sandbox
  const passed = await begin(url, CALLBACK)
  await press(passed.link, 'pass')
  const pending = await begin(url, CALLBACK)
  sandbox.advance(14 * MINUTE_MS)
  t.match((await resultOf(url, passed.token)).json.GroupId, /^group-/)
  t.equal((await fetch(pending.link)).status, 200)
  sandbox.advance(MINUTE_MS)
  for (const { token } of [passed, pending])
    t.same(await refusedWith(url, 'GetVisualValidateResult', { BytedToken: token }), GONE)
  t.equal((await fetch(pending.link)).status, 410)
  t.equal((await press(pending.link, 'pass')).status, 410)
  const { Items } = await done(url, 'ListAssetGroups', { Filter: { GroupType: 'LivenessFace' } })
  t.equal(Items.length, 1, 'the group of who passed stays')
})

void t.test('expire: the credential expires before its first use', async (t) => {
  const { url } = await sandboxFor(t)
  const { token, link } = await begin(url, marked('sandbox expire'))
  t.same(await refusedWith(url, 'GetVisualValidateResult', { BytedToken: token }), GONE)
  t.equal((await press(link, 'pass')).status, 410)
})

void t.test('running-ms, stall: the redirect has 10000 while the result is pending', async (t) => {
  const sandbox = await sandboxFor(t)
  const { url } = sandbox
  const slow = await begin(url, marked('sandbox running-ms=60000'))
  const never = await begin(url, marked('sandbox stall'))
  for (const { token, link } of [slow, never]) {
    t.equal(queryOf(await press(link, 'pass'))['resultCode'], '10000')
    t.strictSame((await resultOf(url, token)).json, { GroupId: '' })
  }
  const list = { Filter: { GroupType: 'LivenessFace' } }
  t.equal((await done(url, 'ListAssetGroups', list)).TotalCount, 0)
  sandbox.advance(60_000)
  const { GroupId } = (await resultOf(url, slow.token)).json
  t.match(await done(url, 'ListAssetGroups', list), { TotalCount: 1, Items: [{ Id: GroupId }] })
  t.strictSame((await resultOf(url, never.token)).json, { GroupId: '' })
})

void t.test('fail=CODE: the redirect has 10000 and the person is not verified', async (t) => {
  const { url } = await sandboxFor(t)
  const { token, link } = await begin(url, marked('sandbox fail=FaceMismatch'))
  t.equal(queryOf(await press(link, 'pass'))['resultCode'], '10000')
  t.same(await refusedWith(url, 'GetVisualValidateResult', { BytedToken: token }), GONE)
})

void t.test('a verification is valid in its region and project only', async (t) => {
  const { url } = await sandboxFor(t)
  const { token, link } = await begin(url, CALLBACK, { region: OVERSEAS })
  await press(link, 'pass')
  const ask = { BytedToken: token }
  const action = 'GetVisualValidateResult'
  t.same(await refusedWith(url, action, ask, { region: DOMESTIC }), GONE)
  const other = { ...ask, ProjectName: 'mine' }
  t.same(await refusedWith(url, action, other, { region: OVERSEAS }), GONE)
  t.match((await resultOf(url, token, { region: OVERSEAS })).json.GroupId, /^group-/)
})

void t.test('400 naming the member at fault of a verification', async (t) => {
  const sandbox = await sandboxFor(t)
  const { url } = sandbox
  const cases = [
    ['CreateVisualValidateSession', {}, 'MissingParameter.CallbackURL'],
    ['CreateVisualValidateSession', { CallbackURL: 'x' }, 'InvalidParameter.CallbackURL'],
    [
      'CreateVisualValidateSession',
      { CallbackURL: 'http://gw.example.com/' },
      'InvalidParameter.CallbackURL',
    ],
    ['GetVisualValidateResult', {}, 'MissingParameter.BytedToken'],
    ['GetVisualValidateResult', { BytedToken: 1 }, 'InvalidParameter.BytedToken'],
  ] as const
  for (const [action, body, code] of cases)
    t.same(await refusedWith(url, action, body), { status: 400, code })
  t.same(sandbox.verifications(), [])
})

void t.test('a browser is redirected by the callback map', async (t) => {
  const { url } = await sandboxFor(t, {
    callbackMap: new Map([['gw.example.com', 'http://127.0.0.1:9999']]),
  })
  const { link } = await begin(url, CALLBACK)
  const back = await press(link, 'pass')
  const target = new URL(back.headers.get('location') ?? '')
  t.equal(target.origin + target.pathname, 'http://127.0.0.1:9999/real-person/callback')
  t.equal(queryOf(back)['resultCode'], '10000')
})
