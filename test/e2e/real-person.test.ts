import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { chromium } from '../helpers/requirements.ts'
import { withPage } from './support/browser.ts'
import { call, type Answer } from './support/client.ts'

const skip = chromium.missing

/** A real person from the first request to a video that shows them, at the page in a real browser. */

t.setTimeout(1_200_000)

const PUBLIC = ['93.184.216.34']
const MODEL = 'domestic-video-2-0'
/** The gateway as persons' browsers know it: its own page for them to come back to. */
const CALLBACK = 'https://gateway.example.com/real-person/callback'

/** The page in each language: what it calls itself, and its buttons. */
const languages = {
  en: ['Verify that you are a real person', 'Pass the check', 'Fail the check'],
  zh: ['真人验证', '通过验证', '验证失败'],
  'zh-Hant': ['真人驗證', '通過驗證', '驗證失敗'],
} as const
type Language = keyof typeof languages
const LANGUAGE_TAGS: Readonly<Record<Language, string>> = {
  en: 'en',
  zh: 'zh-Hans',
  'zh-Hant': 'zh-Hant',
}

const origins = new Map<string, string>()
const stack = await startStack({
  // Whoever is sent to that host comes to the gateway of this test.
  sandbox: { callbackMap: origins },
  hosts: { 'gateway.example.com': PUBLIC, 'media.example.com': PUBLIC },
})
t.teardown(() => stack.stop())
const { url, demo } = stack
origins.set('gateway.example.com', url)

type Body = Readonly<Record<string, unknown>>

const json = { 'content-type': 'application/json' }

function act(action: string, body: Body): Promise<Answer> {
  return call(`${url}/provA/?Action=${action}&Version=2024-01-01`, {
    method: 'POST',
    token: demo.modelToken,
    headers: json,
    body: JSON.stringify({ model: MODEL, ...body }),
  })
}

async function done(action: string, body: Body): Promise<Body> {
  const answer = await act(action, body)
  if (answer.status !== 200) throw new Error(`${action}: ${answer.text}`)
  return answer.body.Result as Body
}

interface Session {
  readonly credential: string
  /** Where the person goes, in their language. */
  readonly link: URL
}

async function begin(language: Language): Promise<Session> {
  const session = await done('CreateVisualValidateSession', { CallbackURL: CALLBACK })
  const link = new URL(String(session['H5Link']))
  link.searchParams.set('lng', language)
  return { credential: String(session['ProviderToken']), link }
}

const resultOf = ({ credential }: Session): Promise<Answer> =>
  act('GetVisualValidateResult', { ProviderToken: credential })

/** What the gateway shows whoever comes back, without a word of how it went. */
const ENDED = [
  'This step has ended. You can close this page and go back to where you came from.',
  '此步骤已结束。您可以关闭此页面并返回原来的页面。',
  '此步驟已結束。您可以關閉此頁面並返回原來的頁面。',
]

/** The person looks at the page, presses a button and comes back to the gateway. */
async function visit(
  t: Test,
  page: Page,
  { link }: Session,
  language: Language,
  outcome: 'pass' | 'fail',
): Promise<void> {
  const [title, pass, fail] = languages[language]
  t.equal((await page.goto(link.href))?.status(), 200)
  t.equal(await page.title(), title)
  t.equal(await page.locator('html').getAttribute('lang'), LANGUAGE_TAGS[language])
  t.equal(await page.locator('h1').innerText(), title)
  t.equal(await page.locator('#pass').innerText(), pass)
  t.equal(await page.locator('#fail').innerText(), fail)
  const [came] = await Promise.all([
    page.waitForResponse((response) => response.url().includes('/real-person/callback')),
    page.locator(`#${outcome}`).click(),
  ])
  await page.waitForLoadState()
  const address = new URL(page.url())
  t.equal(`${address.origin}${address.pathname}`, `${url}/real-person/callback`)
  t.equal(address.searchParams.get('resultCode'), outcome === 'pass' ? '10000' : '50000')
  t.ok(address.searchParams.get('bytedToken'), 'the query holds the credential')
  t.equal(came.status(), 200)
  t.match(came.headers(), { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
  t.same(await page.locator('p').allInnerTexts(), ENDED, 'the same page for everybody')
  const shown = await page.content()
  for (const value of address.searchParams.values())
    if (value.length > 4) t.notOk(shown.includes(value), 'nothing of the query is shown')
  t.equal(await page.locator('script, form, a, img, iframe').count(), 0)
}

t.test(
  'seven steps lead from a link to a video of a verified person, in every language',
  { skip },
  (t) =>
    withPage(async (page) => {
      for (const language of ['en', 'zh', 'zh-Hant'] as const) {
        const session = await begin(language)
        t.match(await resultOf(session), { status: 200, body: { Result: { GroupId: '' } } })
        await visit(t, page, session, language, 'pass')
        t.equal((await page.goto(session.link.href))?.status(), 410, 'the link works once')
        t.ok(await page.locator('#refused').isVisible())
        const { GroupId: groupId } = (await resultOf(session)).body.Result
        t.match(groupId, /^group-/, 'only the answer to a request of ours says who was verified')
        const made = await done('CreateAsset', {
          GroupId: groupId,
          URL: 'https://media.example.com/face.png',
          AssetType: 'Image',
        })
        await eventually('the picture is theirs', async () => {
          const { Status: status } = await done('GetAsset', { Id: made['Id'] })
          return status === 'Active'
        })
        t.equal(await videoOf(String(made['Id'])), 'succeeded')
      }
    }),
)

async function videoOf(assetId: string): Promise<string> {
  const tasks = `${url}/provA/api/v3/contents/generations/tasks`
  const created = await call(tasks, {
    method: 'POST',
    token: demo.modelToken,
    headers: json,
    body: JSON.stringify({
      model: MODEL,
      duration: 5,
      content: [
        { type: 'text', text: 'she waves' },
        { type: 'image_url', role: 'reference_image', image_url: { url: `asset://${assetId}` } },
      ],
    }),
  })
  return eventually(`a video, not ${created.text}`, async () => {
    const { body } = await call(`${tasks}/${created.body.id}`, { token: demo.modelToken })
    return body.status === 'succeeded' ? String(body.status) : undefined
  })
}

t.test('a person who fails at the page gets the failure text, and is not verified', { skip }, (t) =>
  withPage(async (page) => {
    for (const language of ['en', 'zh', 'zh-Hant'] as const) {
      const session = await begin(language)
      await visit(t, page, session, language, 'fail')
      t.match(await resultOf(session), {
        status: 404,
        body: { ResponseMetadata: { Error: { Code: 'ResourceNotFound.VisualValidateSession' } } },
      })
    }
  }),
)

t.test('no secret of the browser’s requests is logged', async (t) => {
  const session = await begin('en')
  const answer = await call(
    `${CALLBACK.replace('https://gateway.example.com', url)}?bytedToken=${session.credential}&resultCode=10000`,
  )
  t.equal(answer.status, 200)
  for (const text of ENDED) t.match(answer.text, text)
  t.notMatch(answer.text, session.credential)
  const logged = stack.logged()
  t.match(logged, '/real-person/callback', 'it was logged that somebody came')
  for (const secret of [
    session.credential,
    session.link.searchParams.get('token') ?? '',
    'resultCode',
  ])
    t.notOk(logged.includes(secret))
})
