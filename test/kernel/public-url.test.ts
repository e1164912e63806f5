import { setTimeout as sleep } from 'node:timers/promises'
import * as fc from 'fast-check'
import t from 'tap'
import { checkPublicUrl, type ResolveHost } from '../../src/kernel/public-url.ts'
import { resolveByDns } from '../../src/platform/resolve-host.ts'
import { character } from '../helpers/characters.ts'

const NOT_PUBLIC = 'must have a publicly routable host'
const asked: string[] = []
const resolve: ResolveHost = async (host) => {
  asked.push(host)
  return Promise.resolve(['93.184.216.34', '2606:2800:220:1::1'])
}
const answering =
  (...addresses: readonly string[]): ResolveHost =>
  async () =>
    Promise.resolve(addresses)

async function reasonFor(value: unknown, by: ResolveHost = resolve): Promise<string> {
  const verdict = await checkPublicUrl(value, by)
  return verdict.ok ? `accepted ${verdict.url}` : verdict.reason
}

void t.test('a URL whose host has only public addresses is accepted, trimmed', async (t) => {
  t.equal(
    await reasonFor('  https://hooks.example.com/a?b=c#d \n'),
    'accepted https://hooks.example.com/a?b=c#d',
  )
  t.equal(
    await reasonFor('HTTPS://Hooks.Example.com:8443/x'),
    'accepted HTTPS://Hooks.Example.com:8443/x',
  )
  t.equal(await reasonFor('https://example.com.'), 'accepted https://example.com.')
  t.equal(await reasonFor('https://8.8.8.8/x'), 'accepted https://8.8.8.8/x')
  t.equal(
    await reasonFor('https://[2606:4700:4700::1111]/'),
    'accepted https://[2606:4700:4700::1111]/',
  )
  t.equal(await reasonFor('https://example.com:443/x'), 'accepted https://example.com:443/x')
})

void t.test('a value that is not a string is refused', async (t) => {
  for (const value of [undefined, null, 1, true, {}, ['https://example.com']])
    t.equal(await reasonFor(value), 'must be a string')
})

void t.test('an empty or blank string is refused', async (t) => {
  for (const value of ['', ' ', '\t\n ']) t.equal(await reasonFor(value), 'must not be empty')
})

void t.test('any scheme but https is refused', async (t) => {
  for (const value of [
    'http://example.com',
    'ftp://example.com',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'data:text/plain,x',
    'blob:https://example.com/x',
    '//example.com/x',
    'example.com',
    'https:example.com',
    'https:/example.com',
    'https:///example.com',
    'https://',
  ])
    t.equal(await reasonFor(value), 'must use https', value)
})

void t.test('credentials are refused, also empty ones', async (t) => {
  for (const value of [
    'https://user@example.com',
    'https://user:pass@example.com',
    'https://:@example.com',
    'https://@example.com',
    'https://example.com@127.0.0.1/',
  ])
    t.equal(await reasonFor(value), 'must not carry credentials', value)
})

void t.test('characters that URL parsers read differently are refused', async (t) => {
  for (const value of [
    'https://exam\tple.com',
    'https://example.com\\@evil.example',
    'https://exa mple.com',
    'https://example.com/\u0000',
    'https://example.com/\u0085x',
  ])
    t.equal(await reasonFor(value), 'must not contain white space or backslashes', value)
  t.equal(
    await reasonFor(`https://example.com/${'a'.repeat(2_048)}`),
    'must not exceed 2048 characters',
  )
  t.equal(await reasonFor('https://exa<mple.com'), 'must be a valid URL')
  t.equal(await reasonFor('https://example.com:99999'), 'must be a valid URL')
})

void t.test(
  'a numeric host is read as browsers read it, and refused when not public',
  async (t) => {
    asked.length = 0
    for (const value of [
      'https://127.0.0.1',
      'https://127.1',
      'https://2130706433',
      'https://0x7f000001',
      'https://0x7f.1',
      'https://0177.0.0.1',
      'https://017700000001',
      'https://127.0.0.1.',
      'https://１２７.０.０.１',
      'https://%31%32%37.0.0.1',
      'https://0',
      'https://0x0a000001',
      'https://169.254.169.254/latest/meta-data',
      'https://[::1]',
      'https://[::]',
      'https://[::ffff:127.0.0.1]',
      'https://[::ffff:7f00:1]',
      'https://[0:0:0:0:0:ffff:a00:1]',
      'https://[64:ff9b::7f00:1]',
      'https://[2002:7f00:1::]',
      'https://[fe80::1]',
      'https://[fd00::1]',
      'https://[ff02::1]',
    ])
      t.equal(await reasonFor(value), NOT_PUBLIC, value)
    t.same(asked, [], 'an address is never resolved')
  },
)

void t.test('a host in an unusual notation is normalised as it was checked', async (t) => {
  t.equal(await reasonFor('https://0x08080808/x'), 'accepted https://8.8.8.8/x')
  t.equal(await reasonFor('https://bücher.example/x'), 'accepted https://xn--bcher-kva.example/x')
})

void t.test('metadata addresses of platforms are not public, in any notation', async (t) => {
  const inside = [
    '168.63.129.16',
    '169.254.169.254',
    '169.254.170.2',
    '169.254.0.23',
    '100.100.100.200',
    '192.0.0.192',
    '192.80.8.124',
    '161.26.0.7',
    '166.8.0.1',
    '166.11.255.255',
    '199.36.153.4',
    '199.36.153.11',
  ]
  const hex = (address: string): string => {
    const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
  }
  const within = ['fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254', '2600:2d00:2:1000::1']
  const forms = inside.flatMap((address) => [
    address,
    `::ffff:${address}`,
    `::${address}`,
    `64:ff9b::${address}`,
    `64:ff9b:1::${address}`,
    `::ffff:0:${address}`,
    `2002:${hex(address)}::1`,
    `2001:0:${hex(address)}::1`,
  ])
  for (const address of [...forms, ...within]) {
    t.equal(await reasonFor('https://example.com', answering(address)), NOT_PUBLIC, address)
    const host = address.includes(':') ? `[${address}]` : address
    t.equal(await reasonFor(`https://${host}/`), NOT_PUBLIC, host)
  }
  for (const near of ['168.63.129.15', '168.63.129.17', '166.7.255.255', '199.36.153.12'])
    t.match(await reasonFor(`https://${near}/`), /^accepted/)
})

void t.test('localhost is refused without resolving it', async (t) => {
  asked.length = 0
  for (const value of ['https://localhost', 'https://LOCALHOST.', 'https://a.localhost:8443/x'])
    t.equal(await reasonFor(value), NOT_PUBLIC, value)
  t.same(asked, [])
})

void t.test('one address that is not public among many refuses the host', async (t) => {
  for (const hidden of [
    '127.0.0.1',
    '10.0.0.8',
    '::1',
    'fd00::2',
    '::ffff:192.168.0.1',
    'nonsense',
  ])
    t.equal(
      await reasonFor('https://example.com', answering('8.8.8.8', '2606:4700::1', hidden)),
      NOT_PUBLIC,
      hidden,
    )
})

void t.test('a host that cannot be resolved is refused like a private one', async (t) => {
  const failing: ResolveHost = async () => Promise.reject(new Error('SERVFAIL'))
  t.equal(await reasonFor('https://example.com', failing), NOT_PUBLIC)
  t.equal(await reasonFor('https://example.com', answering()), NOT_PUBLIC)
  const throwing: ResolveHost = () => {
    throw new Error('broken')
  }
  t.equal(await reasonFor('https://example.com', throwing), NOT_PUBLIC)
})

void t.test('a host that takes too long to resolve is refused', async (t) => {
  const slow: ResolveHost = async () => {
    await sleep(5_000, undefined, { ref: false })
    return ['8.8.8.8']
  }
  const verdict = await checkPublicUrl('https://example.com', slow, { timeoutMs: 20 })
  t.same(verdict, { ok: false, reason: NOT_PUBLIC })
})

void t.test('a host with more than 64 addresses is refused', async (t) => {
  const many = Array.from({ length: 65 }, (_, n) => `8.8.8.${n}`)
  t.equal(await reasonFor('https://example.com', answering(...many)), NOT_PUBLIC)
})

void t.test('an unknown name is resolved by DNS and refused', async (t) => {
  const verdict = await checkPublicUrl('https://does-not-exist.invalid/', resolveByDns)
  t.same(verdict, { ok: false, reason: NOT_PUBLIC })
})

void t.test('any text is checked without throwing, and only https is ever accepted', async (t) => {
  const text = fc.oneof(
    fc.string({ unit: character }),
    fc.webUrl({ validSchemes: ['https', 'http'], withFragments: true, withQueryParameters: true }),
    fc.string({ unit: character }).map((tail) => `https://${tail}`),
    fc.ipV4Extended().map((host) => `https://${host}/`),
    fc.ipV6().map((host) => `https://[${host}]/`),
  )
  let accepted = 0
  await fc.assert(
    fc.asyncProperty(text, async (value) => {
      const verdict = await checkPublicUrl(value, resolve)
      if (!verdict.ok) return
      accepted += 1
      if (new URL(verdict.url).protocol !== 'https:') throw new Error(verdict.url)
    }),
    { numRuns: 3_000, seed: 7 },
  )
  t.ok(accepted > 100, `${accepted} accepted`)
})
