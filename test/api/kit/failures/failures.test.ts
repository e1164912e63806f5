import t from 'tap'
import { Type } from 'typebox'
import {
  type FailureShape,
  failureResponses,
} from '../../../../src/api/kit/routes/documentation.ts'
import { createFailureReader } from '../../../../src/api/kit/failures/surface-failures.ts'
import { failureTable } from '../../../../src/api/kit/failures/failure-table.ts'
import type { Envelope } from '../../../../src/api/kit/envelope.ts'
import { adminEnvelope } from '../../../../src/api/admin/envelope.ts'
import { messagesEnvelope } from '../../../../src/families/messages/surface/envelope.ts'
import { libraryEnvelope } from '../../../../src/families/video-a/library/envelope.ts'
import { provAEnvelope } from '../../../../src/families/video-a/surface/envelope.ts'
import { provCEnvelope } from '../../../../src/families/video-c/surface/envelope.ts'
import { provBV1Envelope } from '../../../../src/families/speech/surface/envelope.ts'
import { queryEnvelope } from '../../../../src/api/query/envelope.ts'
import { userEnvelope } from '../../../../src/api/user/envelope.ts'
import { v1Envelope } from '../../../../src/api/v1/envelope.ts'
import { v1betaEnvelope } from '../../../../src/families/native/surface/envelope.ts'
import { RequestError, type RequestFault } from '../../../../src/api/kit/request-error.ts'
import { settingCodes } from '../../../../src/domain/account/settings.ts'
import { DomainError, domainCodes } from '../../../../src/kernel/errors.ts'
import { startApp } from '../../support/app.ts'

interface Operation {
  readonly responses: Readonly<Record<string, unknown>>
}
interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

const { app } = await startApp()
t.teardown(async () => app.close())
const { paths } = (await app.inject('/openapi.json')).json<Description>()

/** What a route can fail with before its use case is asked; its body only where it has one. */
const faults: readonly RequestFault[] = [
  'unauthenticated',
  'wrong_token_kind',
  'parameter_invalid',
  'outage',
  'internal',
]
const bodyFaults: readonly RequestFault[] = [
  'body_empty',
  'body_invalid',
  'body_too_large',
  'media_type_unsupported',
  'overloaded',
]
const kinds = ['invalid', 'rate_limited', 'account', 'unavailable', 'timeout', 'malformed', '']

/** Everything that can be thrown below a surface. */
function everything(withBodies: boolean, refused: 'call_refused' | 'submission_refused'): Error[] {
  const upstream = kinds.map((kind) => new DomainError(refused, 'no', { kind, status: 400 }))
  const ofInput = [400, 404, 409, 413, 415, 418, 422].map(
    (status) => new DomainError(refused, 'no', { kind: 'invalid', status }),
  )
  return [
    ...domainCodes.map((code) => new DomainError(code, 'no', {})),
    ...[...faults, ...(withBodies ? bodyFaults : [])].map((fault) => new RequestError(fault, 'no')),
    ...upstream,
    ...ofInput,
  ]
}

const isStorageFull = (error: Error): boolean =>
  error instanceof DomainError && error.code === 'storage_full'

function answered(envelope: Envelope, errors: readonly Error[]): number[] {
  const statuses = errors.map((error) => envelope(error, 'req_1').status)
  // 416 is upstream's answer about a part of a file: it is passed on, and no failure.
  const failures = statuses.filter((status) => status >= 400 && status !== 416)
  return [...new Set(failures)].sort((a, b) => a - b)
}

/** Below `/provA` one route has another shape, and no name but the prefix. */
const single: readonly string[] = ['/provA']
/** Errors of messages have another shape than the rest of `/v1`. */
const MESSAGES = '/v1/messages'

function isBelow(path: string, prefix: string): boolean {
  if (single.includes(prefix) || single.includes(path)) return path === prefix
  if (prefix !== MESSAGES && path.startsWith(MESSAGES)) return false
  return path === MESSAGES ? prefix === path : path.startsWith(`${prefix}/`)
}

function documented(prefix: string): number[] {
  const operations = Object.entries(paths)
    .filter(([path]) => isBelow(path, prefix))
    .flatMap(([, methods]) => Object.values(methods))
  const statuses = operations.flatMap(({ responses }) => Object.keys(responses).map(Number))
  // 416 is upstream's answer about a part of a file: it is passed on, and no failure.
  const failures = statuses.filter((status) => status >= 400 && status !== 416)
  return [...new Set(failures)].sort((a, b) => a - b)
}

t.test('every domain code has a status and a message without internal names', (t) => {
  for (const code of domainCodes) {
    const { status, words } = failureTable[code]
    t.ok((status >= 400 && status <= 504) || status === 507 || status === 529, code)
    t.match(words, /^[A-Z]/, code)
    t.notMatch(words, /postgres|database|event store|projection/i, code)
  }
  t.end()
})

t.test('every setting of an account fails under its own name', (t) => {
  t.ok(settingCodes.length > 3)
  for (const setting of settingCodes) {
    const failed = (code: 'setting_invalid' | 'setting_changed') =>
      adminEnvelope(new DomainError(code, 'of the setting', { setting }), 'req_1')
    t.match(failed('setting_changed'), {
      status: 409,
      headers: { 'x-should-retry': 'false' },
      body: {
        message: 'of the setting',
        error: { code: `${setting}_changed`, param: 'expected_revision' },
      },
    })
    t.match(failed('setting_invalid'), {
      status: 400,
      body: { error: { code: 'invalid_request' } },
    })
    t.match(failureTable[`${setting}_changed`].words, setting.replaceAll('_', ' '))
  }
  t.end()
})

t.test('a failure of unknown outcome is never marked as safe to retry', (t) => {
  const uncertain = [
    'submission_uncertain',
    'log_outcome_unknown',
    'upstream_timeout',
    'upstream_malformed',
    'internal',
  ] as const
  for (const failure of uncertain) t.equal(failureTable[failure].retry, 'never', failure)
  t.end()
})

t.test(
  '/provB/v1 reports in its body what callers can correct, other failures with a status too',
  (t) => {
    const read = (error: Error) => {
      const { status, headers, body } = provBV1Envelope(error, 'req_1')
      const { status_code } = (body as { readonly base_resp: { readonly status_code: number } })
        .base_resp
      return [status, status_code, headers['x-should-retry'] ?? headers['retry-after']]
    }
    const refused = (kind: string, details: object = {}) =>
      new DomainError('call_refused', 'no', { kind, ...details })
    t.same(read(new DomainError('invalid_request', 'no', { param: 'text' })), [
      200,
      2013,
      undefined,
    ])
    t.same(read(new DomainError('insufficient_balance', 'no', {})), [200, 1008, undefined])
    t.same(read(refused('invalid', { upstreamCode: '1026' })), [200, 1026, undefined])
    t.same(read(refused('invalid', { upstreamCode: '1004' })), [200, 2013, undefined])
    t.same(read(new DomainError('rate_limited', 'no', {})), [429, 1002, '1'])
    t.same(read(new RequestError('unauthenticated', 'no')), [401, 1004, undefined])
    t.same(read(refused('account')), [503, 1000, 'false'])
    t.same(read(new DomainError('upstream_timeout', 'no', { acceptance: 'unknown' })), [
      504,
      1001,
      'false',
    ])
    const missing = ['task_not_found', 'file_not_found', 'unknown_model'] as const
    for (const code of missing)
      t.same(read(new DomainError(code, 'no', {})), [200, 2013, undefined], code)
    t.end()
  },
)

t.test('a failure of an asset names the member that refers to the asset', (t) => {
  const codes = {
    asset_not_found: [404, 'ResourceNotFound.Asset'],
    asset_not_active: [400, 'asset_not_active'],
    asset_region_mismatch: [400, 'asset_region_mismatch'],
  } as const
  for (const code of ['asset_not_found', 'asset_not_active', 'asset_region_mismatch'] as const) {
    const error = new DomainError(code, 'in our words', { assetId: 'asset-1' })
    const [status, name] = codes[code]
    t.match(provAEnvelope(error, 'req_1'), {
      status,
      body: { error: { code: name, param: 'content' } },
    })
    t.match(v1Envelope(error, 'req_1'), {
      status,
      body: { error: { code, param: 'input_reference' } },
    })
    const named = new DomainError(code, 'in our words', { param: 'content[1].image_url.url' })
    t.match(provAEnvelope(named, 'req_1').body, { error: { param: 'content[1].image_url.url' } })
  }
  t.end()
})

/** The failures of surfaces that store nothing of a request, and so have no store that could be full. */
const storingNothing = everything(true, 'call_refused').filter((error) => !isStorageFull(error))

const surfaces = [
  ['/provA/api', provAEnvelope, everything(true, 'submission_refused')],
  [
    '/provA',
    libraryEnvelope('/provA'),
    [...everything(true, 'submission_refused'), new RequestError('route_not_found', 'no')],
  ],
  ['/provC', provCEnvelope, everything(true, 'submission_refused')],
  ['/provB/v1', provBV1Envelope, everything(true, 'call_refused')],
  ['/v1', v1Envelope, everything(true, 'call_refused')],
  ['/v1beta', v1betaEnvelope, storingNothing],
  ['/v1/messages', messagesEnvelope, storingNothing],
  [
    '/api/query',
    queryEnvelope,
    [...everything(false, 'call_refused'), new RequestError('query_too_long', 'no')],
  ],
  ['/api/user', userEnvelope, everything(true, 'call_refused')],
  [
    '/api/admin',
    adminEnvelope,
    [...everything(true, 'call_refused'), new RequestError('query_too_long', 'no')],
  ],
] as const

for (const [prefix, envelope, errors] of surfaces)
  void t.test(`the documentation of ${prefix} lists the statuses it can answer`, (t) => {
    t.same(documented(prefix), answered(envelope, errors))
    t.end()
  })

void t.test('every failure status of a route has an example in the shape of its surface', (t) => {
  const shown = Object.entries(paths)
    .filter(([path]) => surfaces.some(([prefix]) => isBelow(path, prefix)))
    .flatMap(([path, methods]) =>
      Object.values(methods).map(({ responses }) => ({ path, responses })),
    )
  t.ok(shown.length >= 12, `${shown.length} operations`)
  for (const { path, responses } of shown)
    for (const [status, response] of Object.entries(responses))
      if (!/^(?:2\d\d|416)$/.test(status))
        t.match(JSON.stringify(response), /"example/, `${path} ${status}`)
  t.end()
})

t.test('a route cannot document a code that its surface would answer as a defect', (t) => {
  const read = createFailureReader({ internal: 'broken', storage_full: 'full' })
  const shape: FailureShape = {
    schema: Type.Object({ code: Type.String() }),
    envelope: (error) => {
      const { status, code } = read(error)
      return { status, headers: {}, body: { code } }
    },
    read: (body) => ({ name: (body as { readonly code: string }).code, message: '' }),
  }
  t.same(Object.keys(failureResponses(shape, ['storage_full', 'internal'])), ['500', '507'])
  t.throws(() => failureResponses(shape, ['storage_full', 'task_not_found']), {
    message: /task_not_found/,
  })
  t.end()
})
