import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { refuse } from '../../domain/catalog/checks/fields.ts'
import { DomainError } from '../../kernel/errors.ts'
import { principalOf } from '../kit/tokens/authenticate.ts'
import type { FailureCode } from '../kit/failures/failure-table.ts'
import { objectBody } from '../kit/bodies/json-body.ts'
import { memberOrUndefined, objectAt, stringAt } from '../kit/bodies/member-checks.ts'
import { refuseTypos } from '../kit/bodies/typo-check.ts'
import { partOf, type QuotedPath } from '../kit/routes/surface.ts'
import { tokenFailures, withBody } from '../kit/failures/route-failures.ts'
import { describeV1 } from './documentation.ts'
const QuoteBodySchema = Type.Object(
  {
    path: Type.String({ description: 'Path of the request to price, such as `/v1/videos`.' }),
    body: Type.Object(
      {},
      { additionalProperties: true, description: 'Body of the request to price, as JSON.' },
    ),
  },
  {
    named: 'QuoteRequest',
    additionalProperties: false,
    examples: [
      {
        path: '/v1/chat/completions',
        body: { model: 'text-basic', messages: [{ role: 'user', content: 'Hello' }] },
      },
    ],
  },
)

const Decimal = Type.String({ description: 'Exact decimal string.' })

const QuoteSchema = Type.Object({
  object: Type.Literal('quote'),
  path: Type.String(),
  currency: Type.Enum(['CNY', 'USD']),
  hold: Type.String({
    description: 'Amount held while it runs; the settlement depends on the usage.',
  }),
  price_book: Type.String({ description: 'Version of the price book in effect.' }),
  lines: Type.Array(
    Type.Object({
      sku: Type.String(),
      rule: Type.String({ description: 'Name of the rule that chose the SKU.' }),
      unit: Type.String(),
      price: Decimal,
      per: Type.Integer({ description: 'Number of units that the price is for.' }),
      account_prices: Type.Union([Type.Integer(), Type.Null()], {
        description:
          "Revision of the tenant's prices that this price comes from; null for a price of the price book.",
      }),
    }),
    { description: 'Every SKU that the settlement can use.' },
  ),
})

interface QuoteRouteDeps {
  /** Every path whose creations can be priced, of every surface. */
  readonly quotedPaths: readonly QuotedPath[]
}

const MEMBERS: readonly string[] = Object.keys(QuoteBodySchema.properties)

const failures: readonly FailureCode[] = [
  ...tokenFailures,
  ...withBody,
  'overloaded',
  'invalid_request',
  'invalid_duration',
  'unknown_model',
  'model_not_allowed',
  'price_not_configured',
  'no_channel',
  'n_not_supported',
  'unsupported_image_input',
  'image_too_large',
  'invalid_image_url',
  'previous_response_not_found',
  'kept_unavailable',
  'asset_not_found',
  'asset_not_active',
  'asset_region_mismatch',
  'voice_not_found',
  'voice_exists',
  'log_unavailable',
]

function pathFor(path: string, paths: readonly QuotedPath[]) {
  for (const quoted of paths) {
    const part = partOf(quoted.path, path)
    if (part !== undefined) return { quoted, part }
  }
  const known = paths.map((one) => one.path).join(', ')
  return refuse('path', `\`path\` must be one of ${known}`)
}

async function quote(
  { quotedPaths }: QuoteRouteDeps,
  request: FastifyRequest,
): Promise<Static<typeof QuoteSchema>> {
  const asked = objectBody(request.body)
  const unknown = Object.keys(asked).find((name) => !MEMBERS.includes(name) && asked[name] !== null)
  if (unknown !== undefined)
    refuse(unknown, `\`${unknown}\` is not known here: a quote has only ${MEMBERS.join(' and ')}`)
  const path = stringAt(asked, 'path', 'path')
  const { quoted, part } = pathFor(path, quotedPaths)
  const body = objectAt(memberOrUndefined(asked, 'body'), 'body')
  // From now on only the creation's own reader holds the body.
  request.body = undefined
  const { currency, hold, priceBookVersion, candidates } = await quoted.quote({
    principal: principalOf(request),
    requestId: request.id,
    part,
    body,
  })
  const lines = candidates.map(({ sku, rule, unit, price, per, accountPrice }) => {
    return { sku, rule, unit, price, per, account_prices: accountPrice?.revision ?? null }
  })
  return { object: 'quote', path, currency, hold, price_book: priceBookVersion, lines }
}

/** Quotes of creations, registered below `/v1`. */
export function quotePlugin(deps: QuoteRouteDeps) {
  // oxlint-disable-next-line typescript/require-await -- Fastify recognises a plugin by it
  return async (app: FastifyInstance): Promise<void> => {
    app.post('/quote', {
      config: { startsNothing: true },
      // The creation's own rules check the body.
      validatorCompiler: refuseTypos(),
      schema: {
        ...describeV1({
          tag: 'Prices',
          operationId: 'createQuote',
          summary: 'Price a request without sending it',
          ok: QuoteSchema,
          failures,
          further: [new DomainError('invalid_request', '`path` is required', { param: 'path' })],
        }),
        body: QuoteBodySchema,
      },
      handler: async (request, reply) => {
        void reply.header('cache-control', 'no-store')
        return quote(deps, request)
      },
    })
  }
}
