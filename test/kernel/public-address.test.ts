import t from 'tap'
import { isPublicAddress } from '../../src/kernel/public-url.ts'

/** First, middle or last address of each special block (IANA special-purpose registries). */
const refused: Readonly<Record<string, readonly string[]>> = {
  'this network 0.0.0.0/8': ['0.0.0.0', '0.1.2.3', '0.255.255.255'],
  'private 10.0.0.0/8': ['10.0.0.0', '10.1.2.3', '10.255.255.255'],
  'carrier-grade NAT 100.64.0.0/10': ['100.64.0.0', '100.100.100.200', '100.127.255.255'],
  'loopback 127.0.0.0/8': ['127.0.0.1', '127.0.0.0', '127.255.255.255'],
  'link-local 169.254.0.0/16': ['169.254.0.0', '169.254.169.254', '169.254.255.255'],
  'private 172.16.0.0/12': ['172.16.0.0', '172.20.1.1', '172.31.255.255'],
  'protocol assignments 192.0.0.0/24': ['192.0.0.0', '192.0.0.171', '192.0.0.255'],
  'documentation 192.0.2.0/24': ['192.0.2.0', '192.0.2.255'],
  '6to4 relay 192.88.99.0/24': ['192.88.99.1'],
  'private 192.168.0.0/16': ['192.168.0.0', '192.168.255.255'],
  'benchmarking 198.18.0.0/15': ['198.18.0.0', '198.19.255.255'],
  'documentation 198.51.100.0/24': ['198.51.100.7'],
  'documentation 203.0.113.0/24': ['203.0.113.255'],
  'multicast 224.0.0.0/4': ['224.0.0.1', '239.255.255.255'],
  'reserved 240.0.0.0/4': ['240.0.0.1', '255.255.255.254'],
  broadcast: ['255.255.255.255'],
  'unspecified ::': ['::'],
  'loopback ::1': ['::1'],
  'IPv4-compatible ::/96': ['::127.0.0.1', '::8.8.8.8', '::10.0.0.1'],
  'IPv4-mapped of what is not public': [
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:10.0.0.1',
    '::ffff:169.254.169.254',
    '::ffff:100.64.0.1',
    '::ffff:0.0.0.0',
  ],
  'IPv4-translated ::ffff:0:0:0/96': ['::ffff:0:8.8.8.8'],
  'NAT64 64:ff9b::/96 and 64:ff9b:1::/48': ['64:ff9b::7f00:1', '64:ff9b::808:808', '64:ff9b:1::1'],
  'discard 100::/64': ['100::1'],
  'Teredo 2001::/32': ['2001::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
  'benchmarking 2001:2::/48': ['2001:2::1'],
  'ORCHID 2001:10::/28, 2001:20::/28': ['2001:10::1', '2001:20::1'],
  'documentation 2001:db8::/32, 3fff::/20': ['2001:db8::1', '3fff::1', '3fff:fff::1'],
  '6to4 2002::/16': ['2002:7f00:1::', '2002:808:808::1'],
  'segment routing 5f00::/16': ['5f00::1'],
  'unique local fc00::/7': ['fc00::1', 'fd12:3456::1', 'fdff::1'],
  'link-local fe80::/10': ['fe80::1', 'fe80::1%eth0', 'febf::1'],
  'site-local fec0::/10': ['fec0::1'],
  'multicast ff00::/8': ['ff02::1', 'ff0e::1'],
  'unassigned outside 2000::/3': ['4000::1', 'a000::1', '1::1'],
  'what is no address': [
    '',
    'example.com',
    '1.2.3',
    '1.2.3.4.5',
    '256.1.1.1',
    '1.2.3.4/24',
    ':::',
    ' 8.8.8.8',
  ],
}

for (const [block, addresses] of Object.entries(refused))
  void t.test(`${block} is not public`, async (t) => {
    for (const address of addresses) t.equal(isPublicAddress(address), false, address)
  })

void t.test('addresses around the special blocks are public', async (t) => {
  const around = [
    '1.0.0.0',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '169.253.255.255',
    '169.255.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '191.255.255.255',
    '192.0.1.0',
    '192.0.3.0',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '2606:4700:4700::1111',
    '2001:4860:4860::8888',
    '2a00:1450:4001::1',
    '2003::1',
    '::ffff:8.8.8.8',
  ]
  for (const address of around) t.equal(isPublicAddress(address), true, address)
})
