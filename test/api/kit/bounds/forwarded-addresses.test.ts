import t from 'tap'
import { bareAddresses } from '../../../../src/api/kit/bounds/forwarded-addresses.ts'

const PROXY = '10.0.0.1'

void t.test('ports and brackets are no part of an address', async (t) => {
  for (const [header, bare] of [
    ['203.0.113.7', '203.0.113.7'],
    ['203.0.113.7:51234', '203.0.113.7'],
    ['2001:db8::1', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:443', '2001:db8::1'],
    ['[2001:DB8::1]:80', '2001:db8::1'],
    ['[::ffff:203.0.113.7]:80', '::ffff:cb00:7107'],
    [' 198.51.100.4:1 ,, 203.0.113.7 ', '198.51.100.4, 203.0.113.7'],
    ['', ''],
  ] as const)
    t.equal(bareAddresses(header, PROXY), bare, header)
})

void t.test('text that is no address counts as the proxy that wrote it', async (t) => {
  for (const text of [
    'unknown',
    '_hidden',
    '203.0.113.7:port',
    '203.0.113.7:99999',
    '203.0.113.7/24',
    '1.2.3.4@203.0.113.7',
    'a@203.0.113.7',
    '203.0.113',
    '3405803783',
    '0x7f.1',
    '127.1:80',
    '[2001:db8::1',
    '[203.0.113.7]:80',
    '2001:db8::1:443:x',
    '256.0.0.1:1',
  ]) {
    t.equal(bareAddresses(text, PROXY), PROXY, text)
    t.equal(bareAddresses(`198.51.100.4, ${text}, 10.9.9.9`, PROXY), '10.9.9.9, 10.9.9.9', text)
  }
})
