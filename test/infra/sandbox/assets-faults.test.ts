import t from 'tap'
import {
  act,
  begin,
  done,
  marked,
  newAsset,
  newGroup,
  picture,
  press,
  refusedWith,
  verifiedPerson,
} from './asset-client.ts'
import { sandboxFor } from './client.ts'

const NOW = 'running-ms=0'

/** Everything an asset is refused for after it was taken, in any library. */
const FAILURES = [
  'DownloadFailed',
  'TypeMismatch',
  'FormatUnsupported',
  'FormatUndetectable',
  'DurationTooShort',
  'DurationTooLong',
  'WidthTooSmall',
  'WidthTooLarge',
  'HeightTooSmall',
  'HeightTooLarge',
  'AspectRatioTooSmall',
  'AspectRatioTooLarge',
  'FileSizeTooLarge',
  'PixelCountTooSmall',
  'PixelCountTooLarge',
  'FpsTooLow',
  'FpsTooHigh',
  'AudioTrackRequired',
  'AudioTrackForbidden',
  'ContentRestricted',
  'InputImageSensitiveContentDetected',
  'InputVideoSensitiveContentDetected',
  'InputAudioSensitiveContentDetected',
  'TranscodingFailed',
]

void t.test('fail=CODE: processed, then failed with that code', async (t) => {
  const sandbox = await sandboxFor(t)
  const { url } = sandbox
  const group = await newGroup(url)
  for (const code of FAILURES) {
    const Id = await newAsset(url, group, `sandbox fail=${code} running-ms=5000`)
    t.match(await done(url, 'GetAsset', { Id }), { Status: 'Processing' })
    sandbox.advance(5_000)
    const { Status, Error: error, URL: link } = await done(url, 'GetAsset', { Id })
    t.strictSame([Status, error.Code, link], ['Failed', code, undefined])
    t.match(error.Message, /X-Tos-Signature=/, 'it says more than anybody else should see')
  }
  t.same(
    sandbox.assets().map(({ fail_code: code }) => code),
    FAILURES,
  )
})

void t.test('FaceMismatch applies to groups of real persons only', async (t) => {
  const { url } = await sandboxFor(t)
  const marker = `sandbox fail=FaceMismatch ${NOW}`
  const Id = await newAsset(url, await verifiedPerson(url), marker)
  t.match(await done(url, 'GetAsset', { Id }), { Error: { Code: 'FaceMismatch' } })
  const general = picture(await newGroup(url), { URL: marked(marker) })
  t.same(await refusedWith(url, 'CreateAsset', general), {
    status: 400,
    code: 'InvalidParameter.SandboxMarker',
  })
})

void t.test('a marker is found in path and query, encoded or not', async (t) => {
  const { url } = await sandboxFor(t)
  const group = await newGroup(url)
  const marker = `[[sandbox fail=FpsTooLow ${NOW}]]`
  for (const address of [
    `https://x.example.com/${encodeURIComponent(marker)}a.png`,
    `https://x.example.com/${marker}a.png`,
    new URL(`https://x.example.com/${marker}a.png`).href,
    `https://x.example.com/a.png?sandbox=${encodeURIComponent(marker)}`,
    marked(marker.slice(2, -2)),
  ]) {
    const { Id } = await done(url, 'CreateAsset', picture(group, { URL: address }))
    t.match(await done(url, 'GetAsset', { Id }), { Error: { Code: 'FpsTooLow' } }, address)
  }
  const wrong = picture(group, { URL: marked('sandbox fial=X') })
  t.same(await refusedWith(url, 'CreateAsset', wrong), {
    status: 400,
    code: 'InvalidParameter.SandboxMarker',
  })
  const odd = picture(group, { URL: 'https://x.example.com/100%.png' })
  t.equal((await act(url, 'CreateAsset', odd)).status, 200)
})

void t.test(
  'running-ms, stall, status, gone: ways in which an asset does not become active',
  async (t) => {
    const sandbox = await sandboxFor(t)
    const { url } = sandbox
    const group = await newGroup(url)
    const statusOf = async (Id: string) => (await done(url, 'GetAsset', { Id })).Status
    const slow = await newAsset(url, group, 'sandbox running-ms=3600000')
    const endless = await newAsset(url, group, 'sandbox stall')
    const strange = await newAsset(url, group, 'sandbox status=Reticulating running-ms=3600000')
    const gone = await newAsset(url, group, `sandbox gone ${NOW}`)
    const goneLater = await newAsset(url, group, `sandbox gone-ms=60000 ${NOW}`)
    t.equal(await statusOf(slow), 'Processing')
    t.equal(await statusOf(strange), 'Reticulating')
    t.equal(await statusOf(goneLater), 'Active')
    t.match(await refusedWith(url, 'GetAsset', { Id: gone }), { code: 'ResourceNotFound.Asset' })
    sandbox.advance(3_600_000)
    t.equal(await statusOf(slow), 'Active')
    t.equal(await statusOf(strange), 'Active')
    t.equal(await statusOf(endless), 'Processing')
    t.match(await refusedWith(url, 'GetAsset', { Id: goneLater }), { status: 404 })
    t.match(
      sandbox.assets().map(({ outcome, gone }) => [outcome, gone]),
      [
        ['Active', false],
        ['never', false],
        ['Active', false],
        ['Active', true],
        ['Active', true],
      ],
    )
  },
)

void t.test('refuse=CODE: the status of the code, without an accepted asset', async (t) => {
  const sandbox = await sandboxFor(t)
  const { url } = sandbox
  const group = await newGroup(url)
  const cases = [
    ['InvalidParameter.DownloadFailed', 400],
    ['AccessDenied', 403],
    ['InvalidAction', 403],
    ['ResourceNotFound.AssetGroup', 404],
    ['FlowLimitExceeded', 429],
    ['InternalError', 500],
    ['ServiceUnavailableTemp', 503],
    ['InternalServiceTimeout', 504],
  ] as const
  for (const [code, status] of cases) {
    const body = picture(group, { URL: marked(`sandbox refuse=${code}`) })
    t.same(await refusedWith(url, 'CreateAsset', body), { status, code })
  }
  t.same(sandbox.assets(), [])
})

void t.test('http=N: an error of the service, or of a proxy before it', async (t) => {
  const sandbox = await sandboxFor(t)
  const { url } = sandbox
  const group = await newGroup(url)
  for (const [status, said] of [
    [429, /"FlowLimitExceeded"/],
    [500, /"InternalError"/],
    [502, /^<html>/],
    [503, /^<html>/],
  ] as const) {
    const body = picture(group, { URL: marked(`sandbox http=${status}`) })
    const reply = await act(url, 'CreateAsset', body)
    t.equal(reply.status, status)
    t.match(reply.text, said)
  }
  t.same(sandbox.assets(), [])
})

void t.test('envelope-200: every error has status 200', async (t) => {
  const sandbox = await sandboxFor(t)
  const { url } = sandbox
  const group = await newGroup(url)
  const marker = marked('sandbox refuse=InvalidParameter.FpsTooLow envelope-200')
  t.same(await refusedWith(url, 'CreateAsset', picture(group, { URL: marker })), {
    status: 200,
    code: 'InvalidParameter.FpsTooLow',
  })
  sandbox.faults.add({ faults: ['envelope-200'], match: { family: 'assets' } })
  const cases = [
    ['GetAsset', { Id: 'asset-x' }, {}, 'ResourceNotFound.Asset'],
    ['GetAsset', {}, {}, 'MissingParameter.Id'],
    ['GetVisualValidateResult', { BytedToken: 'x' }, {}, 'ResourceNotFound.VisualValidateSession'],
    ['GetAsset', {}, { keyId: 'AKUNKNOWN' }, 'InvalidAccessKey'],
    ['EatAsset', {}, {}, 'InvalidActionOrVersion'],
  ] as const
  for (const [action, body, signing, code] of cases) {
    const reply = await act(url, action, body, signing)
    t.equal(reply.status, 200)
    t.match(reply.json.ResponseMetadata, { Action: action, Error: { Code: code, CodeN: 0 } })
    t.notOk('Result' in reply.json)
  }
  t.match(await newGroup(url), /^group-/, 'a success stays one')
})

void t.test('drops and broken answers: the record has the accepted assets', async (t) => {
  const sandbox = await sandboxFor(t)
  const { url } = sandbox
  const group = await newGroup(url)
  const attempt = (word: string) =>
    act(url, 'CreateAsset', picture(group, { Name: word, URL: marked(`sandbox ${word}`) }))
  const taken = (word: string) => sandbox.assets({ client_marker: word }).length

  await t.rejects(attempt('drop-before-accept'))
  t.equal(taken('drop-before-accept'), 0)
  for (const word of ['drop-after-accept', 'truncated', 'bad-http']) {
    await t.rejects(attempt(word), word)
    t.equal(taken(word), 1, word)
  }
  for (const word of ['malformed', 'garbage']) {
    const reply = await attempt(word)
    t.strictSame([reply.status, reply.json], [200, undefined], word)
    t.equal(taken(word), 1, word)
  }
  t.equal((await attempt('http-after-accept=500')).status, 500)
  t.equal(taken('http-after-accept=500'), 1)
  const { TotalCount } = await done(url, 'ListAssets', {
    Filter: { GroupType: 'AIGC', Name: 'drop-after-accept' },
  })
  t.equal(TotalCount, 1, 'who lost the answer finds it by its name')
})

void t.test('a rule applies to the named operation, before or after a deletion', async (t) => {
  const sandbox = await sandboxFor(t)
  const { url } = sandbox
  const group = await verifiedPerson(url)
  const [one, two] = [
    await newAsset(url, group, `sandbox ${NOW}`),
    await newAsset(url, group, `sandbox ${NOW}`),
  ]
  sandbox.faults.add({ faults: ['http=500'], once: 1, match: { family: 'assets', op: 'delete' } })
  t.equal((await act(url, 'DeleteAsset', { Id: one })).status, 500)
  t.equal((await done(url, 'GetAsset', { Id: one })).Status, 'Active')
  t.same(await done(url, 'DeleteAsset', { Id: one }), {})

  sandbox.faults.add({ faults: ['http-after-accept=500'], match: { op: 'delete', id: two } })
  t.equal((await act(url, 'DeleteAsset', { Id: two })).status, 500)
  t.match(await refusedWith(url, 'GetAsset', { Id: two }), { status: 404 })
  t.match(sandbox.assets(), [{ deleted: true }, { deleted: true }])
  const { routes } = sandbox.requests()
  t.match(routes['assets.delete'], { count: 3, by_status: { 500: 2, 200: 1 } })
})

void t.test('a rule may match one name, and make its asset fail', async (t) => {
  const sandbox = await sandboxFor(t)
  const { url } = sandbox
  const group = await newGroup(url)
  sandbox.faults.add({
    faults: ['fail=FpsTooHigh'],
    match: { family: 'assets', op: 'create', client_marker: 'mine' },
  })
  const mine = await newAsset(url, group, `sandbox ${NOW}`, { Name: 'mine' })
  const other = await newAsset(url, group, `sandbox ${NOW}`, { Name: 'other' })
  t.match(await done(url, 'GetAsset', { Id: mine }), { Status: 'Failed' })
  t.match(await done(url, 'GetAsset', { Id: other }), { Status: 'Active' })
})

void t.test('a verification is matched by the marker in its CallbackURL', async (t) => {
  const sandbox = await sandboxFor(t)
  const { url } = sandbox
  const session = (word: string) => ({ CallbackURL: marked(`sandbox ${word}`) })
  const action = 'CreateVisualValidateSession'
  t.match(await refusedWith(url, action, session('http=500')), { code: 'InternalError' })
  t.match(await refusedWith(url, action, session('refuse=AccessDenied')), { status: 403 })
  t.same(sandbox.verifications(), [])
  await t.rejects(act(url, action, session('drop-after-accept')))
  t.match(sandbox.verifications(), [{ status: 'pending', page: null }])

  const { link } = await begin(url, 'https://gw.example.com/done')
  sandbox.faults.add({ faults: ['http=503'], once: 1, match: { op: 'page-submit' } })
  t.equal((await press(link, 'pass')).status, 503)
  t.equal((await press(link, 'pass')).status, 303, 'the link was not used up')
})
