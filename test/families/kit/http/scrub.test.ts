import t from 'tap'
import { createScrubber, vendorWords } from '../../../../src/families/kit/http/lines.ts'

const words = vendorWords(
  ['https://api.acme.example.com/v3', 'https://library.acmestore.example.com/'],
  ['megaseed-video-2-0-fast-1'],
  ['Zed'],
)
const scrub = createScrubber({
  modelNames: { 'megaseed-video-2-0-fast-1': 'domestic-video-2-0-fast' },
  words,
  fallback: 'Refused.',
})

t.test('words follow from host and model names, without everyday ones', async (t) => {
  t.same(words, ['acme', 'acmestore', 'megaseed', 'zed'])
})

t.test('what gives upstream away is taken out', async (t) => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['Bad ratio. Request id: 0217abcdef', /^Bad ratio\.?$/],
    ['see https://docs.acme.com/x?y=1 now', /^see \[link\] now$/],
    ['host tos.acme.com/path failed', /^host \[host\] failed$/],
    ['peer 10.1.2.3:443 reset', /^peer \[host\] reset$/],
    ['the ACME model', /^the provider model$/],
    ['megaseed-video-2-0-fast-1 is closed', /^domestic-video-2-0-fast is closed$/],
    ['token abcdef0123456789abcdef0123456789abcdef', /^token \[id\]$/],
    ['asset://asset-20260101 is bad', /^asset:\/\/asset-20260101 is bad$/],
  ]
  for (const [message, expected] of cases) t.match(scrub(message), expected, message)
})

t.test('plain messages stay, empty ones get the fallback, long ones an end', async (t) => {
  t.equal(scrub('The parameter `duration` must be 4-15.'), 'The parameter `duration` must be 4-15.')
  t.equal(scrub('Request id: 021712345'), 'Refused.')
  t.ok(scrub('a '.repeat(5_000)).length <= 500)
})

t.test('a word that the end of the searched part divides is left out', async (t) => {
  const key = 'abcdef0123456789abcdef0123456789abcdef'
  const link = `https://docs.acme.com/${'x'.repeat(3_985)}`
  for (let cut = 1; cut < key.length; cut += 1) {
    const rest = 4_096 - link.length - 2 - cut
    const message = `${link} ${'b'.repeat(rest)} ${key} more`
    t.equal(scrub(message), `[link] ${'b'.repeat(rest)}`)
  }
  t.equal(scrub(`a-${'a-'.repeat(20_000)}`), 'Refused.')
  t.equal(scrub(`Unknown member: ${'a-'.repeat(20_000)}`), 'Unknown member:')
})

t.test('the word of a kind of model is no vendor', (t) => {
  t.same(vendorWords(['https://api.acme.example.com'], ['voice-clone', 'megavoice-2']), [
    'acme',
    'megavoice',
  ])
  t.end()
})
