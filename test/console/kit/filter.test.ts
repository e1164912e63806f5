import { renderToString } from 'preact-render-to-string'
import t from 'tap'
import { fieldOf, timeFields } from '../../../src/console/kit/fields.ts'
import { FilterForm } from '../../../src/console/kit/filter.tsx'
import { inZone, keepingZone, linesHref, zoneIn } from '../../../src/console/kit/href.ts'
import { sentQuery, withTime } from '../../../src/console/kit/time-pages.tsx'

/** Conditions of a page: each is shown, kept and can be removed; times and the zone of its links. */

const fields = [...timeFields('ledger'), fieldOf.model]
const shown = (values: Readonly<Record<string, string>>): string =>
  renderToString(FilterForm({ action: linesHref(), part: 'lines', fields, values }))
const textOf = (html: string): string => html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')

t.test('a condition without a field is kept, and removed by its chip', (t) => {
  const html = shown({ sku: 'text-input', model: 'm1', as_of: '17', cursor: 'c', tz: 'Asia/Tokyo' })
  t.match(html, '<input type="hidden" name="sku" value="text-input"/>')
  t.match(html, '<input type="hidden" name="as_of" value="17"/>')
  t.match(html, '<input type="hidden" name="tz" value="Asia/Tokyo"/>')
  t.notMatch(html, 'name="cursor"', 'another list begins at its beginning')
  t.equal(html.match(/name="model"/g)?.length, 1, 'a field is sent once')
  t.match(html, 'href="/console/ledger/lines?model=m1&amp;as_of=17&amp;tz=Asia%2FTokyo"')
  t.match(textOf(html), /SKU: text-input × .*Model: m1 × .*As of position: 17 ×/)
  t.match(html, 'aria-label="Remove SKU: text-input"')
  t.notMatch(shown({ tz: 'UTC' }), 'class="chips"')
  t.end()
})

t.test('times of day are shown in the zone of the page, and are exact', (t) => {
  const html = shown({ from: '2026-11-30T03:00:00Z', to: '2026-12-01', tz: 'Asia/Shanghai' })
  t.match(html, 'value="2026-11-30T11:00:00+08:00"')
  t.match(html, /<input type="date" value="2026-12-01"/)
  t.match(textOf(html), /From: 30 Nov 2026 11:00:00 × Before: 01 Dec 2026 ×/)
  t.match(shown({ from: '2026-11-30T03:00:00.007Z' }), 'value="2026-11-30T03:00:00.007Z"')
  t.match(shown({ from: 'tomorrow' }), 'value="tomorrow"', 'what is wrong is shown too')
  t.end()
})

t.test('a preset and dates exclude each other', (t) => {
  const dated = shown({ from: '2026-11-01' })
  t.match(dated, '<option value>by the dates</option>')
  t.match(dated, '<input type="hidden" name="dated" value="1"/>')
  const preset = shown({ time_preset: '7d' })
  t.notMatch(preset, 'by the dates')
  t.match(preset, '<option value="7d" selected>last 7 days</option>')
  t.match(shown({ time_preset: '1h' }), /<option value="1h" selected>/, 'one that came by a link')
  const dates = { from: '2026-11-01', to: '' }
  t.same(sentQuery({ ...dates, time_preset: '7d' }), { from: '2026-11-01' }, 'a date was written')
  t.same(sentQuery({ ...dates, time_preset: '7d', dated: '1' }), { time_preset: '7d' }, 'chosen')
  t.same(sentQuery({ ...dates, time_preset: '', dated: '1' }), { from: '2026-11-01' })
  t.end()
})

t.test('a time of day without an offset is of the zone', (t) => {
  const from = (text: string, tz: string) => sentQuery({ from: text, tz })['from']
  t.equal(from('2026-11-30 14:00', 'Asia/Shanghai'), '2026-11-30T06:00:00.000Z')
  t.equal(from('2026-10-25T12:00:30', 'Europe/Berlin'), '2026-10-25T11:00:30.000Z')
  t.equal(sentQuery({ to: '2026-11-30 14:00' })['to'], '2026-11-30T14:00:00.000Z')
  for (const text of ['2026-11-30', '2026-11-30T14:00:00Z', '2026-02-30 14:00', 'x'])
    t.equal(from(text, 'Asia/Shanghai'), text)
  t.equal(from('2026-11-30 14:00', 'Mars/Base'), '2026-11-30 14:00')
  const custom = { time_preset: 'custom', start_time: '1795000000', end_time: '2026-12-01' }
  t.same(withTime(custom, '30d'), { from: '2026-11-18T11:06:40.000Z', to: '2026-12-01' })
  t.end()
})

t.test('links and forms of a page keep its zone', (t) => {
  const tz = 'Asia/Tokyo'
  t.equal(inZone('/console', tz), '/console?tz=Asia%2FTokyo')
  t.equal(
    inZone('/console/tenants/a?user=b#user', tz),
    '/console/tenants/a?user=b&tz=Asia%2FTokyo#user',
  )
  t.equal(inZone('/console/failed?code=a', tz), '/console/failed?code=a&tz=Asia%2FTokyo')
  for (const same of ['/console?tz=UTC', '/console/static/x/console.css', '/console/sign-out'])
    t.equal(inZone(same, tz), same)
  const page = `<a href="/console?a=1&amp;b=2">x</a><form action="/console/find">/console</form>`
  t.equal(
    keepingZone(page, tz),
    `<a href="/console?a=1&amp;b=2&amp;tz=Asia%2FTokyo">x</a><form action="/console/find?tz=Asia%2FTokyo">/console</form>`,
  )
  t.equal(keepingZone(page, undefined), page)
  t.equal(zoneIn('/console?tz=Asia%2FTokyo&a=1'), tz)
  for (const none of ['/console', '/console?tz=', '/console?tz=Mars%2FBase', '/console?tz=%22%3E'])
    t.equal(zoneIn(none), undefined)
  t.end()
})
