import t from 'tap'
import { canonicalRange, isWithinRanges } from '../../src/kernel/address-ranges.ts'

t.test('a range is written in canonical form', async (t) => {
  for (const [text, written] of [
    ['203.0.113.7', '203.0.113.7'],
    [' 203.0.113.7 ', '203.0.113.7'],
    ['203.0.113.7/32', '203.0.113.7'],
    ['203.0.113.7/24', '203.0.113.0/24'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['2001:DB8:0:0::7', '2001:db8::7'],
    ['2001:db8::7/128', '2001:db8::7'],
    ['2001:db8:1:2::7/48', '2001:db8:1::/48'],
    ['::/0', '::/0'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7/120', '203.0.113.0/24'],
  ] as const)
    t.equal(canonicalRange(text), written, text)
})

t.test('a malformed range is refused', async (t) => {
  for (const text of [
    '',
    '203.0.113',
    '203.0.113.7/33',
    '203.0.113.7/-1',
    '203.0.113.7/024',
    '203.0.113.7/',
    '203.0.113.7/24/24',
    '0x7f.1',
    '3405803783',
    '2001:db8::/129',
    'fe80::1%eth0',
    '::ffff:203.0.113.7/95',
    'example.com',
    '*',
  ])
    t.equal(canonicalRange(text), undefined, text)
})

t.test('an address lies in ranges of its own kind only', async (t) => {
  const ranges = ['203.0.113.0/24', '2001:db8::/32', '198.51.100.7']
  for (const inside of [
    '203.0.113.0',
    '203.0.113.255',
    '203.0.113.128/25',
    '203.0.113.0/24',
    '::ffff:203.0.113.9',
    '2001:db8:ffff::1',
    '198.51.100.7',
  ])
    t.ok(isWithinRanges(inside, ranges), inside)
  for (const outside of [
    '203.0.112.255',
    '203.0.114.0',
    '203.0.113.0/23',
    '2001:db9::1',
    '198.51.100.6',
    '::203.0.113.9',
    'nowhere',
    '',
  ])
    t.notOk(isWithinRanges(outside, ranges), outside)
  t.ok(isWithinRanges('203.0.113.9', ['0.0.0.0/0']))
  t.notOk(isWithinRanges('203.0.113.9', ['::/0']), 'an IPv4 address is none of IPv6')
  t.notOk(isWithinRanges('203.0.113.9', []))
})
