import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import type { InjectOptions } from 'fastify'
import t from 'tap'
import { actionNames } from '../../../../src/families/video-a/library/requests.ts'
import { DomainError, type DomainCode } from '../../../../src/kernel/errors.ts'
import { startApp } from '../../../api/support/app.ts'
import { assetId, groupId } from '../../../api/support/memory-assets.ts'
import { asCaller, good, overseas, refused, type Said, startLibrary, urlOf } from './support.ts'

const { app, assets, act, refusal } = await startLibrary(t)

async function ask(request: InjectOptions & { readonly url: string }) {
  const before = assets.asked.length
  const answer = await app.inject({
    method: 'POST',
    payload: good.GetAsset,
    headers: asCaller,
    ...request,
  })
  t.equal(assets.asked.length, before, 'the use case was not called')
  return answer
}

const metadataOf = (body: string) => (JSON.parse(body) as Said).ResponseMetadata

void t.test('401 InvalidCredential without a usable token', async (t) => {
  for (const authorization of [undefined, 'Bearer sk-unknown', 'Bearer sk-expired', 'sk-one']) {
    const { authorization: _, ...plain } = asCaller
    const headers = authorization === undefined ? plain : { ...plain, authorization }
    const answer = await ask({ url: urlOf('GetAsset'), headers })
    t.match(refused(answer), { status: 401, code: 'InvalidCredential' })
    t.equal(answer.headers['www-authenticate'], 'Bearer')
    t.same(metadataOf(answer.body), {
      RequestId: answer.headers['x-request-id'],
      Action: 'GetAsset',
      Version: '2024-01-01',
      Service: 'assets',
      Error: { Code: 'InvalidCredential', Message: refused(answer).message },
    })
  }
})

void t.test(
  '403 AccessDenied for a token of another kind, 503 while none can be looked up',
  async (t) => {
    for (const secret of ['qak-all', 'pat-one', 'adm-one']) {
      const headers = { ...asCaller, authorization: `Bearer ${secret}` }
      t.match(refused(await ask({ url: urlOf('ListAssets'), headers })), {
        status: 403,
        code: 'AccessDenied',
      })
    }
    const headers = { ...asCaller, authorization: 'Bearer sk-away' }
    const answer = await ask({ url: urlOf('ListAssets'), headers })
    t.match(refused(answer), { status: 503, code: 'ServiceUnavailableTemp' })
    t.equal(answer.headers['retry-after'], '2')
  },
)

void t.test('400 MissingParameter.Action names every action', async (t) => {
  for (const url of ['/provA/', '/provA', '/provA/?Version=2024-01-01', '/provA/?Action=']) {
    const { status, code, message = '' } = refused(await ask({ url }))
    t.same([status, code], [400, 'MissingParameter.Action'], url)
    for (const action of actionNames) t.ok(message.includes(action), action)
  }
})

void t.test('404 InvalidActionOrVersion for an unknown action', async (t) => {
  for (const action of ['CopyAsset', 'getasset', 'GetAsset%20', '__proto__', 'constructor']) {
    const answer = await ask({ url: urlOf(action) })
    t.match(refused(answer), { status: 404, code: 'InvalidActionOrVersion' }, action)
    t.match(refused(answer).message, 'CreateVisualValidateSession')
    t.equal(metadataOf(answer.body).Action, undefined, 'only what is known is repeated')
  }
})

void t.test('400 InvalidParameter.Version for every other version, and without one', async (t) => {
  for (const action of actionNames)
    for (const version of ['', '&Version=', '&Version=2023-01-01', '&Version=2024-01-01&Version=1'])
      t.match(refused(await ask({ url: `/provA/?Action=${action}${version}` })), {
        status: 400,
        code: 'InvalidParameter.Version',
        message: '`Version` must be 2024-01-01',
      })
})

void t.test('400 for an unknown query parameter, naming the known ones', async (t) => {
  const cases = { Id: 'Id', 'filter.x': 'filter.x', action: 'action', '%22%3Cb%3E': undefined }
  for (const [name, shown] of Object.entries(cases)) {
    const { status, code, message } = refused(await ask({ url: `${urlOf('GetAsset')}&${name}=1` }))
    t.equal(status, 400)
    t.equal(code, shown === undefined ? 'InvalidParameter' : `InvalidParameter.${shown}`)
    t.match(message, 'this route, which has Action, Version')
  }
  const twice = await ask({ url: `${urlOf('GetAsset')}&Action=GetAsset` })
  t.match(refused(twice), { status: 400, code: 'InvalidParameter.Action' })
})

void t.test('405 in this shape for other methods, naming how actions are called', async (t) => {
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE'] as const)
    for (const url of ['/provA', '/provA/', urlOf('GetAsset')]) {
      const answer = await app.inject({
        method,
        url,
        headers: { authorization: 'Bearer sk-one' },
      })
      t.match(refused(answer), { status: 405, code: 'MethodNotAllowed' }, `${method} ${url}`)
      t.equal(answer.headers.allow, 'POST')
      t.match(refused(answer).message, 'by POST /provA/?Action=')
    }
})

void t.test('other paths below /provA keep the shape of tasks', async (t) => {
  for (const url of ['/provA/x', '/provA/x?Action=GetAsset', '/provA//?Action=GetAsset'])
    t.match((await ask({ url })).json(), { error: { code: 'NotFound', type: 'NotFound' } }, url)
})

void t.test('400 for a body that is no JSON object, in this shape', async (t) => {
  t.match(await refusal('GetAsset', '{"Id":'), {
    status: 400,
    code: 'InvalidParameter',
    message: 'The request body is not valid JSON: line 1, column 7, where it ends',
  })
  for (const body of ['[]', '"x"', 'null', '7'])
    t.match(await refusal('GetAsset', body), { status: 400, code: 'InvalidParameter' }, body)
  t.match(await refusal('GetAsset', ''), { status: 400, code: 'MissingParameter' })
  t.match(await refusal('GetAsset', '{"Id":"a","Id":"b"}'), {
    status: 400,
    code: 'InvalidParameter.Id',
  })
})

void t.test('415 for a body of another type, 413 for one that is too large', async (t) => {
  const typed = await ask({
    url: urlOf('GetAsset'),
    headers: { ...asCaller, 'content-type': 'text/plain' },
    payload: 'Id',
  })
  t.match(refused(typed), { status: 415, code: 'InvalidParameter' })
  const payload = { ...good.GetAsset, pad: 'x'.repeat(64 * 1024) }
  const large = await ask({ url: urlOf('GetAsset'), payload })
  t.match(refused(large), {
    status: 413,
    code: 'InvalidParameter',
    message: 'The request body is larger than 64 KiB',
  })
  t.equal(metadataOf(large.body).Action, 'GetAsset')
})

void t.test('an unreadable request is refused in this shape', async (t) => {
  const small = await startApp({ limits: { headerBytes: 2_048 } })
  await small.app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(async () => small.app.close())
  const socket = connect((small.app.server.address() as AddressInfo).port, '127.0.0.1')
  let text = ''
  socket.on('data', (part) => (text += part.toString()))
  socket.write(`POST ${urlOf('GetAsset')} HTTP/1.1\r\nX-Long: ${'a'.repeat(4_000)}\r\n\r\n`)
  await once(socket, 'close')
  const [head = '', body = ''] = text.split('\r\n\r\n')
  t.match(head, /^HTTP\/1\.1 431 /)
  t.match(metadataOf(body), {
    RequestId: /^req_/,
    Action: 'GetAsset',
    Service: 'assets',
    Error: { Code: 'InvalidParameter' },
  })
})

/** The failure of a use case, the caller's answer, and whether to retry. */
const failures: Readonly<
  Record<
    string,
    {
      readonly code: DomainCode
      readonly details?: Readonly<Record<string, unknown>>
      readonly status: number
      readonly answers: string
      readonly retry?: string
    }
  >
> = {
  'there is no such asset': {
    code: 'asset_not_found',
    status: 404,
    answers: 'ResourceNotFound.Asset',
  },
  'there is no such group': {
    code: 'asset_group_not_found',
    status: 404,
    answers: 'ResourceNotFound.AssetGroup',
  },
  'there is no such verification': {
    code: 'verification_not_found',
    status: 404,
    answers: 'ResourceNotFound.VisualValidateSession',
  },
  'the general library does not allow the change': {
    code: 'asset_action_not_enabled',
    status: 403,
    answers: 'InvalidAction',
  },
  'the object is kept in another region': {
    code: 'asset_region_mismatch',
    status: 400,
    answers: 'asset_region_mismatch',
  },
  'no account of the region has a library': {
    code: 'channel_not_available',
    status: 503,
    answers: 'channel_not_available',
    retry: 'never',
  },
  'no account is available': {
    code: 'no_channel',
    status: 503,
    answers: 'ServiceUnavailableTemp',
    retry: '5',
  },
  'the model is not served': {
    code: 'unknown_model',
    status: 400,
    answers: 'InvalidParameter.model',
  },
  'the token is bound to other models': {
    code: 'model_not_allowed',
    status: 403,
    answers: 'AccessDenied',
  },
  'the token is at its limit': {
    code: 'rate_limited',
    details: { retryAfterMs: 7_000 },
    status: 429,
    answers: 'FlowLimitExceeded',
    retry: '7',
  },
  'the log is away': {
    code: 'log_unavailable',
    status: 503,
    answers: 'ServiceUnavailableTemp',
    retry: '2',
  },
  'the log gave no answer': {
    code: 'log_outcome_unknown',
    status: 503,
    answers: 'ServiceUnavailableTemp',
    retry: 'never',
  },
  'the lists are behind': {
    code: 'read_model_behind',
    status: 503,
    answers: 'ServiceUnavailableTemp',
    retry: '2',
  },
  'upstream refused the input in its own words': {
    code: 'submission_refused',
    details: { kind: 'invalid', upstreamCode: 'InvalidParameter.DownloadFailed' },
    status: 400,
    answers: 'InvalidParameter.DownloadFailed',
  },
  'upstream refused the input and said nothing usable': {
    code: 'submission_refused',
    details: { kind: 'invalid', upstreamCode: 'x y <b>' },
    status: 400,
    answers: 'InvalidParameter',
  },
  'upstream is out of rate': {
    code: 'submission_refused',
    details: { kind: 'rate_limited' },
    status: 429,
    answers: 'FlowLimitExceeded',
    retry: '1',
  },
  'upstream refused the account': {
    code: 'submission_refused',
    details: { kind: 'account', upstreamCode: 'SignatureDoesNotMatch' },
    status: 503,
    answers: 'ServiceUnavailableTemp',
    retry: 'never',
  },
  'upstream could not be reached': {
    code: 'submission_refused',
    details: { kind: 'unavailable' },
    status: 502,
    answers: 'InternalServiceError',
    retry: '2',
  },
  'upstream cannot be queried': {
    code: 'upstream_unavailable',
    status: 502,
    answers: 'InternalServiceError',
    retry: '2',
  },
  'upstream was too slow': {
    code: 'upstream_timeout',
    status: 504,
    answers: 'InternalServiceTimeout',
    retry: 'never',
  },
  'the gateway has an internal fault': {
    code: 'tenant_exists',
    status: 500,
    answers: 'InternalError',
    retry: 'never',
  },
}

for (const [when, failure] of Object.entries(failures))
  void t.test(`${failure.status} ${failure.answers} when ${when}`, async (t) => {
    assets.failure = new DomainError(failure.code, 'in our words', failure.details ?? {})
    const answer = await act('CreateAsset', { ...good.CreateAsset, model: overseas })
    assets.failure = undefined
    t.match(refused(answer), { status: failure.status, code: failure.answers })
    const retry = answer.headers['x-should-retry'] === 'false' ? 'never' : undefined
    t.equal(retry ?? answer.headers['retry-after'], failure.retry)
    t.same(Object.keys(answer.json()), ['ResponseMetadata'])
    t.match(metadataOf(answer.body), { Action: 'CreateAsset', Region: 'overseas' })
    t.equal(answer.headers['cache-control'], 'no-store')
  })

void t.test('503 while Postgres or the log is down, without internal details', async (t) => {
  assets.failure = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:5432'), {
    code: 'ECONNREFUSED',
  })
  const answer = await act('ListAssets', good.ListAssets)
  assets.failure = undefined
  t.match(refused(answer), { status: 503, code: 'ServiceUnavailableTemp' })
  t.notMatch(answer.body, /5432|postgres|database/i)
})

void t.test('404, byte for byte, for another’s id, an unknown and an invalid one', async (t) => {
  const gone = async (action: 'GetAsset' | 'GetAssetGroup', Id: string, secret = 'sk-one') => {
    const answer = await act(action, { Id }, { authorization: `Bearer ${secret}` })
    const { RequestId: _, ...said } = metadataOf(answer.body)
    return [answer.statusCode, said]
  }
  for (const [action, own] of [
    ['GetAsset', assetId],
    ['GetAssetGroup', groupId],
  ] as const) {
    const foreign = await gone(action, own, 'sk-two')
    t.equal(foreign[0], 404)
    const unknown = own.replace(/.$/, 'Z')
    for (const id of [unknown, 'asset-1', '../x', own.toLowerCase(), ` ${own}`, 'x'.repeat(128)])
      t.same(await gone(action, id), foreign, id)
  }
})
