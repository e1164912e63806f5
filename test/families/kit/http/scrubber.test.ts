import t from 'tap'
import { createScrubber, vendorWords } from '../../../../src/families/kit/http/scrubber.ts'

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

t.test('vendor words are found in host and model names, without everyday words', async (t) => {
  t.same(words, ['acme', 'acmestore', 'megaseed', 'zed'])
})

t.test('vendor names, hosts, links, ids and keys are removed from messages', async (t) => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['Bad ratio. Request id: 0217abcdef', /^Bad ratio\.?$/],
    ['see https://docs.acme.com/x?y=1 now', /^see \[link\] now$/],
    ['host tos.acme.com/path failed', /^host \[host\] failed$/],
    ['peer 10.1.2.3:443 reset', /^peer \[host\] reset$/],
    ['the ACME model', /^The provider model$/],
    ['megaseed-video-2-0-fast-1 is closed', /^domestic-video-2-0-fast is closed$/],
    ['token abcdef0123456789abcdef0123456789abcdef', /^token \[id\]$/],
    ['asset://asset-20260101 is bad', /^asset:\/\/asset-20260101 is bad$/],
  ]
  for (const [message, expected] of cases) t.match(scrub(message), expected, message)
})

t.test('plain messages stay, empty ones get a fallback, long ones are cut', async (t) => {
  t.equal(scrub('The parameter `duration` must be 4-15.'), 'The parameter `duration` must be 4-15.')
  t.equal(scrub('Request id: 021712345'), 'Refused.')
  t.ok(scrub('a '.repeat(5_000)).length <= 500)
})

const members = ['messages', 'system', 'tools', 'thinking', 'output_config', 'context_management']
const ofWire = createScrubber({
  modelNames: {},
  words: vendorWords(['https://api.acme.example.com/v1'], ['megatext-4-5']),
  fallback: 'Refused.',
  members,
})

t.test('places of members stay, as do the words by which agents recover', async (t) => {
  const kept = [
    'messages.1.content.0: Invalid `signature` in `thinking` block',
    'messages.1.content.0.thinking.signature.str: Field required',
    'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).',
    'messages.3.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.',
    "messages.2.role: Input should be 'user' or 'assistant'",
    'messages: Unexpected role "system". Use the top-level `system` parameter.',
    'messages.14: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01AbCdEfGhIjKlMnOpQrStUv.',
    'messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 5316852 bytes > 5242880 bytes',
    'tools.0.custom.input_schema.properties.path.type: JSON schema is invalid',
    'tools[0].custom.input_schema.type: Field required',
    'system.0.cache_control.ttl: a `1h` block must not come after a `5m` block',
    'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024',
    'Thinking.Enabled.Budget is too low, or output_config.format.schema.additionalProperties.',
    'context_management.edits.0.clear_tool_uses_20250919.keep: Extra inputs are not permitted',
    'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again',
    'prompt is too long: 215000 tokens > 200000 maximum',
    'messages.0.id is missing',
  ]
  for (const message of kept) t.equal(ofWire(message), message)
})

t.test('a host is no place, whatever its first word', async (t) => {
  const cases: readonly (readonly [string, string])[] = [
    ['host messages.acme.com is down', 'host [host] is down'],
    ['host tools.eu.elsewhere.io: refused', 'host [host]: refused'],
    ['host system.cluster.elsewhere:8443 is down', 'host [host] is down'],
    ['see system.docs.elsewhere/a/b.', 'see [host].'],
    ['host messages.elsewhere.internal', 'host [host]'],
    ['host my-messages.one.elsewhere', 'host [host]'],
    ['host a.messages.elsewhere', 'host [host]'],
    [
      'system.10.1.2.3 and messages.1.content.0 at 10.1.2.3:443',
      'system.[host] and messages.1.content.0 at [host]',
    ],
    ['metadata.user.name.first is wrong', '[host] is wrong'],
    ['messages.0.acme.key is wrong', 'messages.0.the provider.key is wrong'],
  ]
  for (const [message, expected] of cases) t.equal(ofWire(message), expected, message)
  t.equal(scrub('messages.1.content.0: no'), '[host].0: no', 'only a wire names members')
  const long = `messages${'.a1'.repeat(1_300)}`
  t.ok(ofWire(`${long} `.repeat(3)).length <= 500)
})

t.test('a scrubbed message reads as a sentence', async (t) => {
  const cases: readonly (readonly [string, string])[] = [
    ['ACME refused the call.', 'The provider refused the call.'],
    ['Bad key. Acme refused it.', 'Bad key. The provider refused it.'],
    [
      'This is an Acme model of your Acme account',
      'This is a provider model of your provider account',
    ],
    ['Ask the Acme Zed team, not Zed.', 'Ask the provider team, not the provider.'],
    ['The model megaseed-video-9-0 does not exist.', 'The model [name] does not exist.'],
    ['Set acme_key or x-zed-key first.', 'Set [name] or [name] first.'],
    ['Read https://docs.acme.com/x?y=1.', 'Read [link].'],
    ['Bad size (see https://docs.acme.com/x), try again', 'Bad size (see [link]), try again'],
    ['The host tos.acme.com/a/b, is down.', 'The host [host], is down.'],
    ['Bad ratio (request id: 0217abc), try again.', 'Bad ratio, try again.'],
    ['Bad ratio. Request id: 0217abc. Try again.', 'Bad ratio. Try again.'],
    ['Request id: 0217abc. The ratio is bad.', 'The ratio is bad.'],
    ['request_id=0217abc: The ratio is bad.', 'The ratio is bad.'],
    ['Bad ratio, trace id: 0217abc', 'Bad ratio'],
    ['Bad ratio\n{"request_id": "0217abc"}', 'Bad ratio {request id [id]}'],
    ['Trace-Id: 0217abc, log_id=17', 'Refused.'],
    ['The request id 0217abc is unknown.', 'The request id [id] is unknown.'],
    ['Your request id is "0217abc"', 'Your request id is [id]'],
    ['The request id is missing.', 'The request id is missing.'],
    ['The log id `0217abc` has ended', 'The log id [id] has ended'],
    ['long words '.repeat(60), `${'long words '.repeat(44)}long words…`],
  ]
  for (const [message, expected] of cases) t.equal(scrub(message), expected, message)
})

t.test('a word cut by the end of the searched part is left out', async (t) => {
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

t.test('the kind of a model is not a vendor word', (t) => {
  t.same(vendorWords(['https://api.acme.example.com'], ['voice-clone', 'megavoice-2']), [
    'acme',
    'megavoice',
  ])
  t.end()
})
