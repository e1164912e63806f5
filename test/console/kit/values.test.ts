import { renderToString } from 'preact-render-to-string'
import t from 'tap'
import {
  grouped,
  Id,
  Money,
  Moment,
  mostDecimals,
  zoneClock,
} from '../../../src/console/kit/values.tsx'
import { hrefOf, lifeHref, nextPlace } from '../../../src/console/kit/href.ts'
import { readZone } from '../../../src/kernel/read-zone.ts'

t.test('amounts keep every digit', (t) => {
  for (const [amount, shown] of [
    ['0', '0'],
    ['5.0094', '5.0094'],
    ['0.000000000001', '0.000000000001'],
    ['123', '123'],
    ['1234', '1 234'],
    ['-1234567.5', '-1 234 567.5'],
    ['9007199254740993', '9 007 199 254 740 993'],
    ['12345678901234.123456789012', '12 345 678 901 234.123456789012'],
  ] as const)
    t.equal(grouped(amount), shown)
  const money = renderToString(
    Money({ amount: '-1234.50', currency: 'CNY', from: '/api/x?a=1&b=2' }),
  )
  t.match(money, 'data-from="/api/x?a=1&amp;b=2"')
  t.match(money.replaceAll(/<[^>]*>/g, ''), '−1 234.5 CNY')
  t.end()
})

t.test('amounts of a column have their points below each other, and no digit more to copy', (t) => {
  const amounts = ['10000', '1.50', '-0.000012']
  const decimals = mostDecimals(amounts)
  t.equal(decimals, 6)
  const cells = amounts.map((amount) => renderToString(Money({ amount, decimals })))
  t.same(
    cells.map((cell) => /data-room="([^"]*)"/.exec(cell)?.[1]),
    ['.000000', '00000', undefined],
  )
  t.same(
    cells.map((cell) => cell.replaceAll(/<[^>]*>/g, '')),
    ['10 000', '1.5', '−0.000012'],
  )
  t.end()
})

t.test('moments are of the zone, and their exact time is UTC', (t) => {
  const read = readZone('Europe/Berlin')
  if ('fault' in read) throw new Error(read.fault)
  const clock = zoneClock('Europe/Berlin', read.zone)
  const beforeChangeMs = 1_774_745_999_007
  t.equal(clock.day(beforeChangeMs), '29 Mar 2026')
  t.equal(clock.time(beforeChangeMs), '01:59:59.007')
  t.equal(clock.time(beforeChangeMs + 1_000), '03:00:00.007', 'the hour that the day lacks')
  const shown = renderToString(Moment({ atMs: beforeChangeMs, clock }))
  t.match(shown, 'datetime="2026-03-29T00:59:59.007Z"')
  t.equal(shown.replaceAll(/<[^>]*>/g, ''), '29 Mar 2026 01:59:59.007')
  t.end()
})

t.test('texts of others stay texts', (t) => {
  const hostile = `call_"><script>alert(1)</script>'`
  const shown = renderToString(Id({ id: hostile, href: lifeHref(hostile) }))
  t.notMatch(shown, '<script')
  t.match(shown, `href="/console/life/call_%22%3E%3Cscript`)
  t.equal(hrefOf('/find', { q: 'a&b=c', tenant: '', tz: undefined }), '/console/find?q=a%26b%3Dc')
  t.end()
})

t.test('after signing in only a place of the console comes next', (t) => {
  for (const own of ['/console', '/console?tz=UTC', '/console/life/call_1?at=2&tz=Asia%2FShanghai'])
    t.equal(nextPlace(own), own)
  for (const other of [
    undefined,
    '',
    '//evil.example',
    '/\\evil.example',
    'https://evil.example/console',
    '/consolevil',
    '/console\\@evil.example',
    '/console/ x',
    '/console/\r\nset-cookie: a=b',
    'javascript:alert(1)',
    '/console/\u0000',
    '/console/\u007f',
    '/console/?q=語',
  ])
    t.equal(nextPlace(other), '/console', String(other))
  t.end()
})
