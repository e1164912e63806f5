import { createServer, type AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { AssetProvider } from '../../../../src/app/ports/assets.ts'
import type { Channel, ProviderError } from '../../../../src/app/ports/provider.ts'
import {
  answer,
  channelAt,
  failure,
  libraryWith,
  openLibrary,
  openSocket,
  options,
  provider,
  refused,
} from './library.ts'

const NATIVE = 'asset-20260102030405-q8w2e'
const NATIVE_GROUP = 'group-20260102030405-a1b2c'
const MEDIA_URL = 'https://media.example.test/a.png?signature=abc'
const CREDENTIAL = 'one-time-7'
const page = { groupType: 'AIGC', projectName: 'films', pageNumber: 1, pageSize: 10 } as const
const key = { nativeId: NATIVE, projectName: 'films' }

const create = (calls: AssetProvider, channel: Channel) =>
  calls.createAsset(
    channel,
    {
      name: 'asset-ours',
      projectName: 'films',
      nativeGroupId: NATIVE_GROUP,
      url: MEDIA_URL,
      assetType: 'Image',
    },
    options(),
  )
const ofVerification = (calls: AssetProvider, channel: Channel) =>
  calls.verificationResult(channel, { credential: CREDENTIAL, projectName: 'films' }, options())

/** Every action, as what is asked of a library that fails. */
const everyAction: Readonly<
  Record<string, (calls: AssetProvider, channel: Channel) => Promise<unknown>>
> = {
  createGroup: (calls, channel) =>
    calls.createGroup(channel, { name: 'group-ours', projectName: 'films' }, options()),
  createAsset: create,
  getAsset: (calls, channel) => calls.getAsset(channel, key, options()),
  listAssets: (calls, channel) => calls.listAssets(channel, page, options()),
  listGroups: (calls, channel) => calls.listGroups(channel, page, options()),
  deleteAsset: (calls, channel) => calls.deleteAsset(channel, key, options()),
  deleteGroup: (calls, channel) => calls.deleteGroup(channel, key, options()),
  startVerification: (calls, channel) =>
    calls.startVerification(
      channel,
      { callbackUrl: 'https://caller.example.test/done', projectName: 'films' },
      options(),
    ),
  verificationResult: ofVerification,
}

/** A library that refuses everything so. */
const refusing = (t: Test, status: number, code: string | undefined, message = 'no') =>
  openLibrary(t, (asked, response) =>
    answer(response, refused(asked, { Code: code, Message: message, CodeN: 0 }), status),
  )

const refusals: readonly (readonly [
  number,
  string | undefined,
  ProviderError['kind'],
  ProviderError['acceptance'],
])[] = [
  [400, 'InvalidParameter.DownloadFailed', 'invalid', 'ruled_out'],
  [200, 'InvalidParameter.FormatUnsupported', 'invalid', 'ruled_out'],
  [400, 'MissingParameter.GroupId', 'invalid', 'ruled_out'],
  [200, 'SomethingElse', 'invalid', 'ruled_out'],
  [404, 'ResourceNotFound.AssetGroup', 'invalid', 'ruled_out'],
  [200, 'ResourceNotFound.AssetGroup', 'invalid', 'ruled_out'],
  [400, 'InvalidTimestamp', 'account', 'ruled_out'],
  [400, 'MissingRequestInfo', 'account', 'ruled_out'],
  [401, 'InvalidAccessKey', 'account', 'ruled_out'],
  [200, 'SignatureDoesNotMatch', 'account', 'ruled_out'],
  [403, 'AccessDenied', 'account', 'ruled_out'],
  [200, 'AccessDenied', 'account', 'ruled_out'],
  [403, undefined, 'account', 'ruled_out'],
  [404, 'InvalidActionOrVersion', 'account', 'ruled_out'],
  [404, 'ServiceNotFound', 'account', 'ruled_out'],
  [200, 'OperationDenied.ServiceNotOpen', 'account', 'ruled_out'],
  [429, 'FlowLimitExceeded', 'rate_limited', 'ruled_out'],
  [200, 'FlowLimitExceeded', 'rate_limited', 'ruled_out'],
  [500, 'InternalError', 'unavailable', 'unknown'],
  [200, 'InternalServiceError', 'unavailable', 'unknown'],
  [503, 'ServiceUnavailableTemp', 'unavailable', 'unknown'],
  [200, 'InternalServiceTimeout', 'unavailable', 'unknown'],
  [400, 'InternalServiceTimeout', 'unavailable', 'unknown'],
  [502, undefined, 'unavailable', 'unknown'],
  [200, undefined, 'unavailable', 'unknown'],
]
for (const [status, code, kind, acceptance] of refusals)
  t.test(`a creation refused with ${status} ${code}: ${kind}, ${acceptance}`, async (t) => {
    const { channel } = await refusing(t, status, code)
    const error = await failure(create(provider(t), channel))
    t.match(error, { kind, acceptance, code })
    t.equal(error.retryAfterMs, kind === 'rate_limited' ? 2_000 : undefined)
  })

t.test('429 with Retry-After keeps the time upstream asks for', async (t) => {
  const { channel } = await openLibrary(t, (_asked, response) =>
    response.writeHead(429, { 'retry-after': '7' }).end(),
  )
  t.equal((await failure(create(provider(t), channel))).retryAfterMs, 7_000)
})

t.test('a wrong signing key is refused as an account fault, for every action', async (t) => {
  const { url } = await libraryWith(t, {})
  const calls = provider(t)
  for (const secretAccessKey of ['SKOTHER', 'SKTEST+secret'])
    for (const [name, ask] of Object.entries(everyAction)) {
      const error = await failure(ask(calls, channelAt(url, { secretAccessKey })))
      t.match(error, { kind: 'account', acceptance: 'ruled_out' }, name)
      t.notMatch(error.message, /SK|believed/)
    }
})

t.test('an error in a 200 is an error, for every action', async (t) => {
  const { channel } = await refusing(t, 200, 'InvalidParameter')
  const calls = provider(t)
  for (const [name, ask] of Object.entries(everyAction))
    t.match(await failure(ask(calls, channel)), { kind: 'invalid', acceptance: 'ruled_out' }, name)
})

for (const [status, code] of [
  [404, 'ResourceNotFound.Asset'],
  [200, 'ResourceNotFound.AssetGroup'],
  [400, 'ResourceNotFound'],
  [404, 'NotFound.Session'],
  [404, 'SessionUnknown'],
] as const)
  t.test(`an object missing upstream is gone or deleted: ${status} ${code}`, async (t) => {
    const { channel } = await refusing(t, status, code)
    const calls = provider(t)
    t.equal(await calls.getAsset(channel, key, options()), 'gone')
    t.same(await ofVerification(calls, channel), { kind: 'gone' })
    await t.resolves(calls.deleteAsset(channel, key, options()))
    await t.resolves(calls.deleteGroup(channel, key, options()))
  })

t.test('a 404 without a known code does not mean that the object is gone', async (t) => {
  const answers: readonly (readonly [string, () => ReturnType<typeof openLibrary>])[] = [
    ['bare', () => openLibrary(t, (_asked, response) => response.writeHead(404).end())],
    ['a page', () => openLibrary(t, (_asked, response) => answer(response, '<html>', 404))],
    ['of the action', () => refusing(t, 404, 'InvalidActionOrVersion')],
  ]
  for (const [title, open] of answers) {
    const { channel } = await open()
    const calls = provider(t)
    for (const name of ['getAsset', 'deleteAsset', 'deleteGroup', 'verificationResult'] as const)
      t.match(await failure(everyAction[name]!(calls, channel)), { kind: 'account' }, title)
  }
})

t.test('messages reveal no upstream, account or secret', async (t) => {
  const message = (host: string) =>
    `The BytedToken ${CREDENTIAL} of ${NATIVE} in ${NATIVE_GROUP} (AKTESTKEY, SKTEST+secret/==, ` +
    `account-project) cannot read ${MEDIA_URL} at ${host}, data.acmecloud.test, Acmecloud says ` +
    `Acmecorp of acmeseed-video-2-0-260128. Request id: 20260102030405ABCDEF0123456789`
  const { url } = await refusing(t, 400, 'InvalidParameter.BytedToken', message('10.1.2.3:443'))
  const library = { baseUrl: url, projectName: 'account-project' }
  const calls = provider(t)
  for (const ask of [create, ofVerification, everyAction['deleteAsset']!]) {
    const { message, code } = await failure(ask(calls, channelAt(url, library)))
    t.equal(code, 'InvalidParameter.ProviderToken')
    t.match(message, /ProviderToken/)
    t.notMatch(
      message,
      /byted|AKTESTKEY|SKTEST|account-project|https|10\.1|acmecloud|acmecorp|acmeseed|request id|ABCDEF/i,
    )
  }
  t.notMatch((await failure(create(calls, channelAt(url, library)))).message, NATIVE_GROUP)
  t.notMatch((await failure(ofVerification(calls, channelAt(url, library)))).message, CREDENTIAL)
  const deleted = await failure(calls.deleteAsset(channelAt(url, library), key, options()))
  t.notMatch(deleted.message, NATIVE)
})

for (const [title, text] of [
  ['not JSON', '<html>oops</html>'],
  ['an empty body', ''],
  ['a list', '[]'],
  ['another object', '{"ok":true}'],
  ['an empty envelope', '{"ResponseMetadata":{},"Result":{}}'],
  ['an id that is no text', '{"ResponseMetadata":{},"Result":{"Id":{},"Items":7,"H5Link":1}}'],
] as const)
  t.test(`a 200 with ${title} is malformed, acceptance unknown`, async (t) => {
    const { channel } = await openLibrary(t, (_asked, response) => answer(response, text))
    const calls = provider(t)
    // Deletions have no result, and a verification without a group is not over.
    const lenient = text.startsWith('{"Res') ? ['deleteAsset', 'deleteGroup'] : []
    const pending = text.startsWith('{') ? ['verificationResult'] : []
    for (const [name, ask] of Object.entries(everyAction))
      if (![...lenient, ...pending].includes(name))
        t.match(
          await failure(ask(calls, channel)),
          { kind: 'malformed', acceptance: 'unknown' },
          name,
        )
  })

t.test('an answer about another asset is malformed', async (t) => {
  const { channel } = await libraryWith(t, { Id: 'asset-other', Status: 'Active' })
  const error = await failure(provider(t).getAsset(channel, key, options()))
  t.equal(error.kind, 'malformed')
})

t.test('an H5 link that is no web link is malformed', async (t) => {
  const { channel } = await libraryWith(t, { BytedToken: 'x', H5Link: 'javascript:alert(1)' })
  const error = await failure(everyAction['startVerification']!(provider(t), channel))
  t.equal(error.kind, 'malformed')
})

t.test('a connection that is refused rules acceptance out', async (t) => {
  const free = createServer()
  await new Promise<void>((resolve) => free.listen(0, '127.0.0.1', resolve))
  const { port } = free.address() as AddressInfo
  await new Promise((resolve) => free.close(resolve))
  const error = await failure(create(provider(t), channelAt(`http://127.0.0.1:${port}`)))
  t.match(error, { kind: 'unavailable', acceptance: 'ruled_out' })
})

const broken: readonly (readonly [string, Parameters<typeof openSocket>[1], string])[] = [
  ['silence', () => undefined, 'timeout'],
  ['a reset', (socket) => socket.resetAndDestroy(), 'unavailable'],
  [
    'an answer cut short',
    (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"Result":{"Id"'),
    'unavailable',
  ],
]
for (const [title, onData, kind] of broken)
  t.test(`${title} after the request was sent leaves acceptance unknown`, async (t) => {
    const channel = { ...(await openSocket(t, onData)), timeoutMs: 150 }
    const calls = provider(t)
    for (const ask of [create, everyAction['createGroup']!])
      t.match(await failure(ask(calls, channel)), { kind, acceptance: 'unknown' })
  })

t.test('a call whose caller no longer waits ends', async (t) => {
  const channel = await openSocket(t, () => undefined)
  const abort = new AbortController()
  const work = provider(t).getAsset(channel, key, { ...options(), signal: abort.signal })
  abort.abort()
  t.equal((await failure(work)).kind, 'timeout')
})

for (const [title, id] of [
  ['a megabyte', 'a'.repeat(1024 * 1024)],
  ['a NUL', 'asset-\0'],
  ['a lone surrogate', 'asset-\ud800'],
] as const)
  t.test(
    `a creation answered with an id with ${title} is malformed, acceptance unknown`,
    async (t) => {
      const { channel } = await openLibrary(t, (_asked, response) =>
        answer(response, JSON.stringify({ ResponseMetadata: {}, Result: { Id: id } })),
      )
      t.match(await failure(create(provider(t), channel)), {
        kind: 'malformed',
        acceptance: 'unknown',
      })
    },
  )
