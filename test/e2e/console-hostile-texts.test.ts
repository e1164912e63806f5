import t from 'tap'
import { startStack } from '../helpers/stack.ts'
import { chromium } from '../helpers/requirements.ts'
import { withPage } from './support/browser.ts'
import { call, tasksOf } from './support/client.ts'
import { giveViewReason, signInToConsole } from './support/console.ts'

const skip = chromium.missing

/** Texts of callers, providers and administrators that are made to harm: the console shows them as texts. */

const hostile = [
  '<script>alert(1)</script>',
  '</title><script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '"><img src=x onerror=alert(1)>',
  "'><svg onload=alert(1)>",
  '" onfocus="alert(1)" autofocus="',
  "' onmouseover='alert(1)",
  '" style="position:fixed;inset:0',
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)//',
  'data:text/html,<script>alert(1)</script>',
  '<a href="javascript:alert(1)">x</a>',
  '<iframe srcdoc="<script>alert(1)</script>">',
  '<![CDATA[<script>alert(1)</script>]]>',
  '<!-- --><b>',
  '--></main>',
  '</td></tr></table><h1>gone</h1>',
  '&lt;script&gt;',
  '&#60;script&#62;',
  '&amp;amp;',
  '{{constructor.constructor("alert(1)")()}}',
  '${alert(1)}',
  '<base href="//evil.example/">',
  '<meta http-equiv="refresh" content="0;url=//evil.example">',
  '<form action="//evil.example"><input name=key>',
  '<link rel=stylesheet href=//evil.example/x.css>',
  '<div hx-get="//evil.example" hx-trigger="load">',
  'hx-on:click="alert(1)"',
  'é́́́́́́́ 𝔗𝔢𝔵𝔱 漢字 عربى',
  '`alert(1)`',
  'W'.repeat(120),
  '%3Cscript%3Ealert(1)%3C/script%3E',
] as const

const stack = await startStack()
t.teardown(() => stack.stop())
const { url, demo } = stack
const post = async (token: string, path: string, body: object) => {
  const headers = { 'content-type': 'application/json' }
  const sent = { method: 'POST', token, headers, body: JSON.stringify(body) }
  return call(`${url}${path}`, sent)
}
const manage = async (path: string, body: object): Promise<void> => {
  const { status, text } = await post(demo.adminToken, `/api/admin/${path}`, body)
  if (status >= 300) throw new Error(`${path}: ${status} ${text}`)
}
const ask = (text: string, model = 'text-basic') =>
  post(demo.modelToken, '/v1/chat/completions', {
    model,
    messages: [{ role: 'user', content: text }],
    user: text.slice(0, 60),
  })

const callId = (await ask('hello')).headers.get('x-call-id') ?? ''
await stack.caughtUp()
/** Each page is made the same way for every text: some of them show it. */
const some = hostile.flatMap((text, n) =>
  n % 5 === 0 || text.length > 60 ? [[text, n] as const] : [],
)
await Promise.all(
  hostile.map(async (text, n) => manage('tenants', { tenant_id: `tenant_h${n}`, name: text })),
)
await Promise.all(
  some.map(async ([text, n]) => {
    const tenant = `tenant_h${n}`
    await manage(`tenants/${tenant}/users`, { user_id: 'user', name: text })
    const owner = { tenant_id: tenant, user_id: 'user' }
    await manage('tokens', { ...owner, kind: 'model', name: text })
    const grant = { currency: 'USD', amount: '1', reason: text, grant_id: `grant_h${n}` }
    await manage(`tenants/${tenant}/credit/grants`, grant)
    await ask('x', text.slice(0, 100))
  }),
)
for (const [text, n] of some) await manage(`lives/${callId}/notes`, { text, note_id: `note_h${n}` })
await ask(hostile.join(' '))
const failed = await tasksOf(url, demo.modelToken).create({
  prompt: '[[sandbox fail=<script>alert(1)</script>]]',
})
await stack.caughtUp()

const running = new Date().toISOString().slice(0, 7)

/** Markup that a text would have become, as the browser sees the page. */
const made = `(() => {
  const found = []
  for (const e of document.querySelectorAll('*')) {
    for (const { name, value } of e.attributes)
      if (/^(?:on|style$|srcdoc$|hx-on)/.test(name) || /^\\s*(?:javascript|data):/i.test(value) && /^(?:href|src|action)$/.test(name))
        found.push(e.tagName + ' ' + name + '=' + value)
    for (const name of ['src', 'href', 'action', 'hx-get'])
      if (/evil/.test(e.getAttribute(name) ?? '') && !e.getAttribute(name).startsWith('/console'))
        found.push(e.tagName + ' ' + name)
  }
  const scripts = document.querySelectorAll('script').length
  if (scripts !== 1) found.push(scripts + ' scripts')
  if (document.querySelectorAll('iframe, base, svg [onload], meta[http-equiv], img').length > 0) found.push('markup')
  return found
})()`

t.test('no text becomes markup or makes a page wider than its window', { skip }, async (t) => {
  t.ok(hostile.length >= 30)
  await withPage(
    async (page) => {
      const complaints: string[] = []
      page.on('console', (message) => complaints.push(message.text()))
      page.on('dialog', (dialog) => {
        complaints.push(dialog.message())
        void dialog.dismiss()
      })
      const cookie = await signInToConsole(url, demo.adminToken)
      const [name = '', value = ''] = cookie.split('=')
      await page.context().addCookies([{ name, value, url }])
      const tenants = some.map(([, n]) => `tenant_h${n}`)
      for (const tenant of tenants) await giveViewReason(url, cookie, tenant)
      const paths = [
        '/console/tenants',
        '/console/failed',
        `/console/periods?month=${running}`,
        `/console/life/${callId}`,
        ...(failed.body?.id === undefined ? [] : [`/console/life/${String(failed.body.id)}`]),
        `/console/tenants/${demo.tenantId}/activity`,
        ...tenants.flatMap((tenant) => [
          `/console/tenants/${tenant}`,
          `/console/tenants/${tenant}/billing`,
          `/console/ledger/movements?tenant_id=${tenant}`,
          `/console/periods/${tenant}~USD~${running}`,
        ]),
        ...some.map(([text]) => `/console/find?q=${encodeURIComponent(text)}`),
      ]
      for (const path of paths) {
        await page.goto(`${url}${path}`)
        t.same(await page.evaluate(made), [], path)
        const widths = await page.evaluate<readonly number[]>(
          '[document.documentElement.scrollWidth, window.innerWidth]',
        )
        t.ok((widths[0] ?? 0) <= (widths[1] ?? 0), `${path}: ${widths.join(' of ')}`)
      }
      await page.goto(`${url}/console/tenants`)
      const shown = (await page.locator('main').textContent()) ?? ''
      for (const text of hostile.slice(0, 20)) t.ok(shown.includes(text), `${text} is shown whole`)
      t.same(
        complaints.filter((text) => !/404|Failed to load/.test(text)),
        [],
      )
    },
    { viewport: { width: 390, height: 900 } },
  )
})
