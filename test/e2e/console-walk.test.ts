import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { toTimestamp } from '../../src/kernel/clock.ts'
import { checkout } from '../helpers/checkout.ts'
import { until } from '../helpers/eventually.ts'
import { atLength } from '../helpers/long-run.ts'
import { startStack } from '../helpers/stack.ts'
import { chromium } from '../helpers/requirements.ts'
import { withPage } from './support/browser.ts'
import { call, callOnce, tasksOf } from './support/client.ts'

const skip = chromium.missing

/** The console in a browser: with and without script, by keyboard alone, in both schemes and widths. */

const stack = await startStack()
t.teardown(() => stack.stop())
const { url, demo } = stack
const axe = readFileSync(new URL('node_modules/axe-core/axe.min.js', checkout), 'utf8')

const created = await tasksOf(url, demo.modelToken).create()
const taskId = String(created.body.id)
await until(async () => {
  const { body } = await call(`${url}/api/query/v1/lives/${taskId}`, { token: demo.queryToken })
  return body.data?.state === 'settled'
})

const typo = JSON.stringify({ model: 'text-basik', messages: [{ role: 'user', content: 'hi' }] })
const chat = { method: 'POST', token: demo.modelToken, body: typo }
await call(`${url}/v1/chat/completions`, {
  ...chat,
  headers: { 'content-type': 'application/json' },
})
await until(async () => {
  const { body } = await call(`${url}/api/query/v1/refusals`, { token: demo.queryToken })
  return body.data.items.length > 0
})

/** Collects what the browser complains of: the policy, a file that is missing, an error of the script. */
function complaintsOf(page: Page): readonly string[] {
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  return complaints
}

async function signIn(page: Page, token: string): Promise<void> {
  await page.goto(`${url}/console`)
  await page.fill('input[name=token]', token)
  await page.press('input[name=token]', 'Enter')
  await page.waitForSelector('.find')
}

interface Rule {
  readonly id: string
  readonly nodes: readonly { readonly html: string }[]
}

/** Holds a page against WCAG 2.2 A and AA, and the practices that axe knows. */
async function checkAccess(t: Test, page: Page, name: string): Promise<void> {
  await page.evaluate(axe)
  const { violations }: { readonly violations: readonly Rule[] } = await page.evaluate('axe.run()')
  t.same(
    violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`),
    [],
    name,
  )
  const hiding = await page.evaluate<readonly string[]>(
    `[...document.forms].flatMap((form) => [...form.elements].map((field) => field.name))
      .filter((name) => name !== '' && name in HTMLFormElement.prototype)`,
  )
  t.same(hiding, [], `${name}: no field hides a member of its form, which the script may call`)
  const width = await page.evaluate<readonly number[]>(
    '[document.documentElement.scrollWidth, window.innerWidth]',
  )
  t.ok(
    (width[0] ?? 0) <= (width[1] ?? 0),
    `${name}: nothing is wider than the window, ${width.join(' ')}`,
  )
}

const refusals = await call(`${url}/api/query/v1/refusals`, { token: demo.queryToken })
const listed = await call(`${url}/api/admin/tokens`, { token: demo.adminToken })
const life = await call(`${url}/api/query/v1/lives/${taskId}`, { token: demo.queryToken })
const lineId = `${life.body.data.id}:1`
const books = await call(`${url}/api/admin/price-books`, { token: demo.adminToken })
const { version } = books.body.data.items[0]
const running = toTimestamp(Date.now()).slice(0, 7)
const pages = [
  '/console',
  `/console?tenant_id=${demo.tenantId}`,
  '/console/ledger/lines',
  `/console/ledger/lines/${lineId}`,
  '/console/ledger/summary',
  '/console/ledger/summary?by=day&and=model',
  `/console/ledger/movements?tenant_id=${demo.tenantId}`,
  '/console/periods',
  `/console/periods?month=${running}&show=blocked`,
  `/console/periods/${demo.tenantId}~USD~${running}`,
  `/console/prices?tenant_id=${demo.tenantId}`,
  `/console/prices/${version}?against=${version}&time_preset=this_month`,
  `/console/tenants/${demo.tenantId}/activity`,
  `/console/tenants/${demo.tenantId}/activity?token_id=none`,
  '/console/operations',
  '/console/operations/channels/sandbox-image',
  '/console/find',
  '/console/find?refused=secret',
  '/console/proposals',
  '/console/tenants',
  '/console/sessions',
  '/console/views',
  '/console/changes',
  '/console/ledger/credits?kind=credit',
  '/console/ledger/held',
  '/console/prices?sku=text-basic-output-token',
  `/console/tenants/${demo.tenantId}`,
  `/console/tenants/${demo.tenantId}/billing`,
  `/console/tokens/${String(listed.body.data.items[0].id)}`,
  `/console/life/${taskId}`,
  `/console/life/${taskId}?at=2&against=1`,
  '/console/failed',
  '/console/failed?code=unknown_model',
  `/console/failed/request/${String(refusals.body.data.items[0].samples[0].request_id)}`,
  '/console/speed?time_preset=1h',
  '/console/charged-twice',
  '/console/find?q=demo',
  '/console/find?q=zzzzzz',
  '/console/life/call_none',
]

/**
 * Colours depend on the scheme and sizes on the width: two of the four combinations show each of them. In short, each
 * page is looked at in one of the two, as all have one style sheet.
 */
const apart = [['light', 1280] as const, ['dark', 390] as const]
const crossed = [['light', 390] as const, ['dark', 1280] as const]

t.test('every page is accessible in both schemes and widths', { skip }, async (t) => {
  for (const [n, [colorScheme, width]] of atLength(apart, [...apart, ...crossed]).entries())
    await withPage(
      async (page) => {
        const name = `${colorScheme}, ${width} px`
        await page.goto(`${url}/console/sign-in`)
        await checkAccess(t, page, `sign-in, ${name}`)
        await signIn(page, demo.adminToken)
        for (const path of pages.filter((_, at) => atLength(at % apart.length === n, true))) {
          await page.goto(`${url}${path}`)
          await page.evaluate(
            "document.querySelectorAll('details.action').forEach((form) => { form.open = true })",
          )
          await checkAccess(t, page, `${path}, ${name}`)
        }
      },
      // Its script is no page of ours.
      { colorScheme, viewport: { width, height: 900 }, bypassCSP: true },
    )
})

t.test('support finds a task, looks at an earlier step, and signs out', { skip }, async (t) => {
  await withPage(async (page) => {
    const complaints = complaintsOf(page)
    await signIn(page, demo.queryToken)
    await page.fill('.find input', taskId)
    await page.press('.find input', 'Enter')
    await page.waitForSelector('.verdict')
    t.match(page.url(), /\/console\/life\/video_\w+$/, 'the only hit is opened')
    t.match(await page.locator('h1').textContent(), /^Settled once: /)
    t.equal(await page.locator('.step').count(), 3)
    await page.focus('#at')
    await page.keyboard.press('ArrowLeft')
    await page.waitForSelector('.step.later')
    t.match(page.url(), /\?at=2/, 'the address follows the slider')
    t.equal(await page.evaluate('document.activeElement.id'), 'at', 'the focus stays')
    t.match(await page.locator('.step.later').textContent(), /not yet/)
    await page.goBack()
    await page.waitForSelector('.step.later', { state: 'detached' })
    await page.selectOption('select[name=against]', '1')
    await page.click('.slider button[type=submit]')
    await page.waitForSelector('.difference')
    t.match(await page.locator('.difference').textContent(), /held.*5\.055078.*→.*0/)
    await page.click('.raw summary')
    t.match(await page.locator('.raw pre').first().textContent(), /"taskId"|"data"/)
    await page.click('.who summary')
    await page.click('.who button')
    await page.waitForSelector('input[name=token]')
    await page.goBack()
    t.notMatch(await page.content(), /Settled once/, 'nothing is shown from the cache')
    t.same(complaints, [])
  })
})

t.test('a filter of failures has a short address, and can be opened by it', { skip }, async (t) => {
  await withPage(async (page) => {
    const complaints = complaintsOf(page)
    await signIn(page, demo.queryToken)
    await page.click('nav >> text=Failed')
    await page.fill('.filter input[name=code]', 'no_such_code')
    await page.press('.filter input[name=code]', 'Enter')
    await page.waitForSelector('text=No request was refused in this time')
    t.match(page.url(), /\/console\/failed\?time_preset=24h&code=no_such_code$/)
    await page.fill('.filter input[name=code]', 'unknown_model')
    await page.press('.filter input[name=code]', 'Enter')
    await page.waitForSelector('td >> text=unknown_model')
    await page.reload()
    t.equal(await page.locator('.filter input[name=code]').inputValue(), 'unknown_model')
    const request = page.locator('#refusals ~ * a.id')
    await request.first().click()
    await page.waitForSelector('text=Last refused requests')
    t.match(await page.locator('main').textContent(), /unknown_model/)
    t.same(complaints, [])
  })
})

t.test('an open page of activity shows what is newer, and keeps the focus', { skip }, async (t) => {
  await withPage(async (page) => {
    const complaints = complaintsOf(page)
    await signIn(page, demo.queryToken)
    await page.goto(`${url}/console/tenants/${demo.tenantId}/activity?user_id=${demo.userId}`)
    const link = page.getByRole('link', { name: /^video_/ }).last()
    await link.focus()
    const focused = () => page.evaluate<string>('document.activeElement.textContent')
    const before = await focused()
    t.match(before, /^video_/)
    // Twice: the part that was renewed goes on asking.
    for (let n = 0; n < 2; n += 1) {
      const id = await callOnce(url, demo.modelToken)
      await page.waitForSelector(`#row-${id}`)
      t.equal(await focused(), before)
      t.equal(await page.locator('tbody tr').first().getAttribute('id'), `row-${id}`)
    }
    const file = await page.locator('main .note code').last().textContent()
    t.match(file, `tenant_id=${demo.tenantId}`)
    t.match(file, `user_id=${demo.userId}`)
    const { status, text } = await call(`${url}${(file ?? '').slice('GET '.length)}`, {
      token: demo.queryToken,
    })
    t.equal(status, 200)
    t.equal(text.trim().split('\n').length, 1 + (await page.locator('tbody tr').count()))
    t.same(complaints, [])
  })
})

t.test('the same works without script', { skip }, async (t) => {
  await withPage(
    async (page) => {
      await page.goto(`${url}/console/life/${taskId}?tz=Asia%2FShanghai`)
      await page.fill('input[name=token]', 'adm-wrong')
      await page.press('input[name=token]', 'Enter')
      t.match(await page.locator('[role=alert]').textContent(), /not valid/)
      await page.fill('input[name=token]', demo.queryToken)
      await page.press('input[name=token]', 'Enter')
      await page.waitForSelector('.verdict')
      t.match(page.url(), new RegExp(`life/${taskId}\\?tz=Asia`), 'it leads back')
      t.match(await page.locator('footer').textContent(), /Asia\/Shanghai/)
      await page.click('[aria-label="One step back"]')
      t.equal(await page.locator('.step.later').count(), 1)
      await page.selectOption('select[name=against]', '3')
      await page.click('.slider button[type=submit]')
      t.match(await page.locator('.difference h2').textContent(), /Between step 2 and step 3/)
      t.match(page.url(), /tz=Asia/, 'the zone stays')
    },
    { javaScriptEnabled: false },
  )
})

t.test(
  'by keyboard alone: every stop is seen, none is covered, targets are large enough',
  { skip },
  async (t) => {
    await withPage(
      async (page) => {
        await signIn(page, demo.queryToken)
        await page.goto(`${url}/console/life/${taskId}`)
        const stops: string[] = []
        for (let n = 0; n < 40; n += 1) {
          await page.keyboard.press('Tab')
          const stop: { name: string; outline: number; height: number; covered: boolean } | null =
            await page.evaluate(`(() => {
            const e = document.activeElement
            if (e === null || e === document.body) return null
            const r = e.getBoundingClientRect()
            const top = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2)
            return { name: (e.getAttribute('aria-label') ?? e.textContent ?? e.name).trim().slice(0, 40),
              outline: parseFloat(getComputedStyle(e).outlineWidth) || 0, height: r.height,
              covered: !(top !== null && (e.contains(top) || top.contains(e))) }
          })()`)
          if (stop === null) break
          stops.push(stop.name)
          t.ok(stop.outline >= 2, `${stop.name} shows its focus`)
          t.notOk(stop.covered, `${stop.name} is covered by nothing`)
          t.ok(stop.height >= 24, `${stop.name}: ${stop.height} px`)
        }
        t.equal(stops[0], 'Skip to content')
        const order = [
          'Tollgate',
          'Overview',
          'Ledger',
          'Months',
          'Failed',
          'API',
          'One step back',
          'One step on',
          'Reply to the customer',
        ]
        t.same(
          order.toSorted((a, b) => stops.indexOf(a) - stops.indexOf(b)),
          order,
          stops.join(' | '),
        )
      },
      { viewport: { width: 1280, height: 900 } },
    )
  },
)

t.test('pages keep their layout while they load', { skip }, async (t) => {
  await withPage(async (page) => {
    await page.addInitScript(
      "window.shifts = 0; new PerformanceObserver((list) => { for (const e of list.getEntries()) window.shifts += e.value }).observe({ type: 'layout-shift', buffered: true })",
    )
    await signIn(page, demo.queryToken)
    await page.goto(`${url}/console/life/${taskId}`)
    await page.waitForLoadState('networkidle')
    t.equal(await page.evaluate('window.shifts'), 0)
  })
})
