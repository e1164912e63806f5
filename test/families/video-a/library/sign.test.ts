import { createHash } from 'node:crypto'
import t from 'tap'
import {
  canonicalRequest,
  queryText,
  signedHeaders,
  signingKey,
} from '../../../../src/families/video-a/library/sign.ts'

const key = {
  accessKeyId: 'AKEXAMPLE',
  secretAccessKey: 'SKEXAMPLE+secret/==',
  region: 'ap-southeast-1',
  service: 'ark',
}
const request = {
  host: 'ark.ap-southeast-1.example.test',
  path: '/',
  query: { Version: '2024-01-01', Action: 'GetAsset' },
  contentType: 'application/json',
  body: '{"Id":"asset-20260101000000-abcde","ProjectName":"default"}',
  atMs: Date.parse('2026-01-02T03:04:05.678Z'),
}
const BODY_HASH = 'cad1a8a7e3f4fa0961990266d9e2a52db3577bd192704512b5b0d428c2cb99fa'
const CANONICAL =
  'POST\n/\nAction=GetAsset&Version=2024-01-01\ncontent-type:application/json\n' +
  `host:ark.ap-southeast-1.example.test\nx-content-sha256:${BODY_HASH}\nx-date:20260102T030405Z\n\n` +
  `content-type;host;x-content-sha256;x-date\n${BODY_HASH}`

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

t.test('a request is signed byte for byte as upstream’s example', async (t) => {
  t.equal(canonicalRequest(request), CANONICAL)
  t.equal(
    sha256(canonicalRequest(request)),
    '182fa2ccf8f1763fc4bd48cbc4473cf0b5df67ff344ad6c24cd61d084ef24304',
  )
  t.equal(
    signingKey(key, '20260102').toString('hex'),
    'dcecd7b34169b7d7dcde1ec7fae225588ab19212e72e39619aae0617a862bbd2',
  )
  t.same(signedHeaders(request, key), {
    'content-type': 'application/json',
    host: 'ark.ap-southeast-1.example.test',
    'x-content-sha256': BODY_HASH,
    'x-date': '20260102T030405Z',
    authorization:
      'HMAC-SHA256 Credential=AKEXAMPLE/20260102/ap-southeast-1/ark/request, ' +
      'SignedHeaders=content-type;host;x-content-sha256;x-date, ' +
      'Signature=bdd608c3685397d8a059d48471f84a370659ba6b2d4292c0fc9bf0c84bd67a31',
  })
})

t.test('the day of the scope is the time’s day in UTC', async (t) => {
  const late = { ...request, atMs: Date.parse('2026-12-31T23:59:59.999Z') }
  const headers = signedHeaders(late, key)
  t.equal(headers['x-date'], '20261231T235959Z')
  t.match(headers['authorization'], /Credential=AKEXAMPLE\/20261231\//)
})

t.test('a query is sorted by name and encoded down to the unreserved characters', async (t) => {
  t.equal(
    queryText({ b: "a b+c!'()*~", 'a-b': '1', a: '/=&', A: 'ü' }),
    'A=%C3%BC&a=%2F%3D%26&a-b=1&b=a%20b%2Bc%21%27%28%29%2A~',
  )
})

t.test('a body is hashed as the bytes of its UTF-8', async (t) => {
  const headers = signedHeaders({ ...request, body: '{"Name":"小船"}' }, key)
  t.equal(
    headers['x-content-sha256'],
    createHash('sha256').update(Buffer.from('{"Name":"小船"}', 'utf8')).digest('hex'),
  )
})

t.test('a default port is not part of the host, any other is', async (t) => {
  for (const [host, signed] of [
    ['library.test:443', 'library.test'],
    ['library.test:80', 'library.test'],
    ['library.test:8443', 'library.test:8443'],
    ['[::80]', '[::80]'],
  ] as const)
    t.equal(signedHeaders({ ...request, host }, key)['host'], signed)
})
