import t from 'tap'
import {
  bodyHashOf,
  canonicalRequest,
  signatureOf,
  signingKey,
} from '../../../infra/sandbox/assets/signature.ts'
import { KNOWN_KEY } from '../../../infra/sandbox/assets/signature.ts'
import { sandboxLibraryKey } from '../../../src/app/channels/sandbox.ts'
import { createHash } from 'node:crypto'
import {
  act,
  DOMESTIC,
  newGroup,
  OVERSEAS,
  refusedWith,
  signedHeaders,
  type Signing,
} from './asset-client.ts'
import { call, sandboxFor } from './client.ts'

const MINUTE_MS = 60_000
/** What every right caller may ask. */
const LIST = { Filter: { GroupType: 'AIGC' } }

/** Fixed inputs whose signature the real service takes. */
const BODY = '{"Id":"asset-20260101000000-abcde","ProjectName":"default"}'
const BODY_HASH = 'cad1a8a7e3f4fa0961990266d9e2a52db3577bd192704512b5b0d428c2cb99fa'
const SCOPE = { date: '20260102', region: OVERSEAS, service: 'ark' }
const REQUEST = {
  method: 'POST',
  path: '/',
  query: new URLSearchParams('Action=GetAsset&Version=2024-01-01'),
  headers: [
    ['content-type', 'application/json'],
    ['host', 'ark.ap-southeast-1.example.test'],
    ['x-content-sha256', BODY_HASH],
    ['x-date', '20260102T030405Z'],
  ],
  bodyHash: BODY_HASH,
} as const

void t.test('a signature equals that of the real service', async (t) => {
  t.equal(bodyHashOf(Buffer.from(BODY)), BODY_HASH)
  const canonical = canonicalRequest(REQUEST)
  t.equal(
    canonical,
    `POST\n/\nAction=GetAsset&Version=2024-01-01\ncontent-type:application/json\nhost:ark.ap-southeast-1.example.test\nx-content-sha256:${BODY_HASH}\nx-date:20260102T030405Z\n\ncontent-type;host;x-content-sha256;x-date\n${BODY_HASH}`,
  )
  t.equal(
    createHash('sha256').update(canonical).digest('hex'),
    '182fa2ccf8f1763fc4bd48cbc4473cf0b5df67ff344ad6c24cd61d084ef24304',
  )
  const secret = 'SKEXAMPLE+secret/=='
  t.equal(
    signingKey(secret, SCOPE).toString('hex'),
    'dcecd7b34169b7d7dcde1ec7fae225588ab19212e72e39619aae0617a862bbd2',
  )
  t.equal(
    signatureOf(secret, SCOPE, '20260102T030405Z', REQUEST),
    'bdd608c3685397d8a059d48471f84a370659ba6b2d4292c0fc9bf0c84bd67a31',
  )
})

void t.test(
  'queries are sorted and encoded, an empty path is a slash, default ports are omitted',
  async (t) => {
    const canonical = canonicalRequest({
      ...REQUEST,
      path: '',
      query: new URLSearchParams([
        ['b', "it's (a) *!"],
        ['a', 'x+y~z'],
        ['B', ' '],
      ]),
      headers: [
        ['x-date', 'later'],
        ['host', 'ark.example.test:443'],
      ],
    })
    t.equal(
      canonical,
      `POST\n/\nB=%20&a=x%2By~z&b=it%27s%20%28a%29%20%2A%21\nhost:ark.example.test\nx-date:later\n\nhost;x-date\n${BODY_HASH}`,
    )
  },
)

void t.test('the sandbox’s key is the application’s key', async (t) => {
  t.strictSame(KNOWN_KEY, sandboxLibraryKey)
})

void t.test('a valid signature is accepted, with and without a trailing slash', async (t) => {
  const { url } = await sandboxFor(t)
  for (const path of ['/open', '/open/'])
    for (const region of [DOMESTIC, OVERSEAS]) {
      const reply = await act(url, 'ListAssetGroups', LIST, { path, region })
      t.equal(reply.status, 200, path)
      t.match(reply.json.ResponseMetadata, {
        RequestId: /^\d{14}[0-9A-F]{16}$/,
        Action: 'ListAssetGroups',
        Version: '2024-01-01',
        Service: 'ark',
        Region: region,
      })
      t.notOk('Error' in reply.json.ResponseMetadata)
    }
})

const REFUSED: readonly (readonly [string, Signing, number, string])[] = [
  ['an unknown key', { keyId: 'AKUNKNOWN' }, 401, 'InvalidAccessKey'],
  ['another secret', { secret: 'SKSANDBOX+secret/=' }, 401, 'SignatureDoesNotMatch'],
  ['another body', { sentBody: '{}' }, 401, 'SignatureDoesNotMatch'],
  [
    'the hash of another body',
    { headers: { 'x-content-sha256': 'a'.repeat(64) } },
    401,
    'SignatureDoesNotMatch',
  ],
  ['another type', { headers: { 'content-type': 'text/plain' } }, 401, 'SignatureDoesNotMatch'],
  ['another service', { service: 'iam' }, 400, 'InvalidCredential'],
  ['a region without a library', { region: 'us-east-1' }, 400, 'InvalidCredential'],
  ['no Authorization', { headers: { authorization: '' } }, 400, 'MissingRequestInfo'],
  ['a bearer', { headers: { authorization: 'Bearer test-key' } }, 400, 'InvalidAuthorization'],
  ['a date of long ago', { atMs: Date.now() - 6 * MINUTE_MS }, 400, 'InvalidTimestamp'],
  ['a date ahead', { atMs: Date.now() + 6 * MINUTE_MS }, 400, 'InvalidTimestamp'],
  ['no date', { headers: { 'x-date': '20261399T000000Z' } }, 400, 'InvalidTimestamp'],
]

for (const [what, signing, status, code] of REFUSED)
  void t.test(`${status} ${code} for ${what}`, async (t) => {
    const { url } = await sandboxFor(t)
    t.same(await refusedWith(url, 'ListAssetGroups', LIST, signing), { status, code })
  })

void t.test('400 for a header that must be signed, or was signed and not sent', async (t) => {
  const { url } = await sandboxFor(t)
  const address = '/open/?Action=ListAssetGroups&Version=2024-01-01'
  const text = JSON.stringify(LIST)
  const {
    host: _host,
    authorization = '',
    ...headers
  } = signedHeaders(new URL(url + address), text)
  const withNames = async (names: string) => {
    const changed = authorization.replace(/SignedHeaders=[^,]+/, `SignedHeaders=${names}`)
    const reply = await call(url, 'POST', address, text, { ...headers, authorization: changed })
    return [reply.status, reply.json.ResponseMetadata.Error.Code]
  }
  t.same(await withNames('content-type;host;x-date'), [400, 'InvalidAuthorization'])
  const more = 'host;x-content-sha256;x-date;x-security-token'
  t.same(await withNames(more), [400, 'MissingRequestInfo'])
  t.same(await withNames('host;x-content-sha256;x-date'), [401, 'SignatureDoesNotMatch'])
})

void t.test('signatures use the real clock, not the sandbox’s moved clock', async (t) => {
  const sandbox = await sandboxFor(t)
  sandbox.advance(3_600_000)
  t.match(await newGroup(sandbox.url), /^group-/)
  const late = { atMs: Date.now() + 3_600_000 }
  t.match(await refusedWith(sandbox.url, 'ListAssetGroups', LIST, late), {
    code: 'InvalidTimestamp',
  })
})

void t.test('a test may widen the allowed clock skew', async (t) => {
  const { url } = await sandboxFor(t, { signatureSkewMs: 10 * MINUTE_MS })
  const late = { atMs: Date.now() + 9 * MINUTE_MS }
  t.equal((await act(url, 'ListAssetGroups', LIST, late)).status, 200)
  t.match(await refusedWith(url, 'ListAssetGroups', LIST, { atMs: Date.now() + 11 * MINUTE_MS }), {
    code: 'InvalidTimestamp',
  })
})

void t.test(
  '404 for a missing action or version, to callers with a valid signature only',
  async (t) => {
    const { url } = await sandboxFor(t)
    const unknown = { status: 404, code: 'InvalidActionOrVersion' }
    t.same(await refusedWith(url, 'EatAsset', {}), unknown)
    t.same(await refusedWith(url, 'toString', {}), unknown)
    t.same(await refusedWith(url, 'GetAsset', {}, { version: '2023-01-01' }), unknown)
    t.match(await refusedWith(url, 'EatAsset', {}, { secret: 'x' }), { status: 401 })
    const unnamed = { status: 400, code: 'MissingRequestInfo' }
    t.same(await refusedWith(url, '', {}), unnamed)
    t.same(await refusedWith(url, 'GetAsset', {}, { version: '' }), unnamed)
  },
)
