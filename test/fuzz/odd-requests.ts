import { oddTexts, oddValues, withNul } from './odd-values.ts'

/** Odd values for every parameter and member that `/openapi.json` describes, as requests. */

interface Described {
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly schema: { readonly enum?: readonly string[] }
  }[]
  readonly requestBody?: {
    readonly content: Readonly<
      Record<
        string,
        { readonly schema: { readonly properties?: Readonly<Record<string, unknown>> } }
      >
    >
  }
  readonly security?: readonly Readonly<Record<string, unknown>>[]
}
const required: Readonly<Record<string, readonly string[]>> = {
  '/api/admin/price-books/{version}/diff': ['against'],
  '/api/admin/price-books/{version}/what-if': ['from'],
  '/api/admin/sku-prices': ['sku'],
  '/api/query/v1/movements': ['currency'],
  '/api/query/v1/periods/{month}/postings': ['tenant_id', 'currency'],
  '/api/query/v1/periods/{month}/statement': ['tenant_id', 'currency'],
  '/api/query/v1/search': ['q'],
  '/provB/v1/files/retrieve': ['file_id'],
  '/provB/v1/query/t2a_async_query_v2': ['task_id'],
  '/provA': ['Action', 'Version'],
}
/** Bodies that a route takes: what is odd is put into them. */
const video = { model: 'domestic-video-2-0', prompt: 'a boat' }
const speech = { model: 'speech-2.8-hd', voice_id: 'nova', text: 'a boat' }
const turn = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }
const clip = { model: 'viduq3-turbo', prompt: 'a boat' }
const bodies: Readonly<Record<string, object>> = {
  '/provA/api/v3/contents/generations/tasks': {
    model: 'domestic-video-2-0',
    content: [{ type: 'text', text: 'a boat' }],
  },
  '/provC/ent/v2/text2video': clip,
  '/provB/v1/t2a_v2': speech,
  '/provB/v1/t2a_async_v2': speech,
  '/v1/audio/speech': { model: 'speech-2.8-hd', voice: 'nova', input: 'a boat' },
  '/v1/chat/completions': { model: 'text-basic', messages: [{ role: 'user', content: 'hi' }] },
  '/v1/responses': { model: 'text-basic', input: 'hi' },
  '/v1/responses/compact': { model: 'text-basic', input: 'hi' },
  '/v1/responses/input_tokens': { model: 'text-basic', input: 'hi' },
  '/v1/messages/count_tokens': {
    model: 'text-basic',
    messages: [{ role: 'user', content: 'hi' }],
  },
  '/v1beta/models/{model}:countTokens': turn,
  '/v1/messages': {
    model: 'text-basic',
    max_tokens: 9,
    messages: [{ role: 'user', content: 'hi' }],
  },
  '/v1/images/generations': { model: 'image-2', prompt: 'a boat' },
  '/v1/images/generations/async': { model: 'image-2', prompt: 'a boat' },
  '/v1/videos': video,
  '/v1/quote': { path: '/v1/videos', body: video },
  '/v1beta/models/{model}:generateContent': turn,
  '/v1beta/models/{model}:streamGenerateContent': turn,
  '/api/user/tokens': { kind: 'model', name: 'odd' },
  '/api/admin/tenants': { name: 'Odd', tenant_id: 'tenant_odd' },
  '/api/admin/tenants/{tenant_id}/users': { name: 'Odd', user_id: 'user_odd' },
  '/api/admin/tenants/{tenant_id}/credit/grants': {
    currency: 'USD',
    amount: '1',
    reason: 'odd',
    grant_id: 'odd',
  },
  '/api/admin/tenants/{tenant_id}/credit/limit': { currency: 'USD', amount: '1', limit_id: 'odd' },
  '/api/admin/tenants/{tenant_id}/budgets': { budgets: [] },
  '/api/admin/tenants/{tenant_id}/limits': { limits: [] },
  '/api/admin/tenants/{tenant_id}/balance-alerts': { thresholds: [] },
  '/api/admin/tenants/{tenant_id}/prices': { expected_revision: 0 },
  '/api/admin/price-books': { version: 'odd', effective_from: '2099-01-01T00:00:00Z', prices: [] },
  '/api/admin/issuer': { legal_name: 'Odd', address: ['1 Main St'], country: 'US' },
  '/api/admin/periods': { month: '2026-01' },
  '/api/admin/tenants/{tenant_id}/periods': { month: '2026-01', currency: 'CNY' },
  '/api/admin/tenants/{tenant_id}/periods/{month}/void': { currency: 'CNY', reason: 'odd' },
  '/api/admin/tenants/{tenant_id}/periods/{month}/void/approve': { currency: 'CNY' },
  '/api/admin/tenants/{tenant_id}/periods/{month}/void/reject': { currency: 'CNY', reason: 'odd' },
  '/api/admin/tokens': {
    tenant_id: 'tenant_other',
    user_id: 'user_other',
    kind: 'model',
    name: 'x',
  },
}

export interface Route {
  readonly method: string
  readonly path: string
  readonly route: Described
}

/** A request, and what is odd about it. */
export interface OddRequest extends Route {
  readonly target: string
  readonly body: string | undefined
  readonly where: string
  readonly hasNul: boolean
  /** The parameter or member that is odd. */
  readonly member: string
}

export function routesOf(api: { readonly paths: unknown }): readonly Route[] {
  return Object.entries(
    api.paths as Readonly<Record<string, Readonly<Record<string, Described>>>>,
  ).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, route]) => ({
      method: method.toUpperCase(),
      path,
      route,
    })),
  )
}

export const schemeOf = ({ security = [] }: Described): string =>
  Object.keys(security[0] ?? {})[0] ?? ''

/** What is asked about where another parameter is the odd one. */
export type Real = Readonly<Record<string, string>>

/** The path with every parameter set but one, which is odd. */
export function urlOf(real: Real, path: string, place = '', name = '', odd = ''): string {
  const filled = path.replaceAll(/\{([\w*]+)\}/g, (_whole, one: string) =>
    place === 'path' && one === name ? odd : (real[one] ?? 'x'),
  )
  const further = (required[path] ?? []).filter((one) => one !== name)
  const query = [
    ...further.map((one) => `${one}=${real[one] ?? 'x'}`),
    ...(place === 'query' ? [`${name}=${odd}`] : []),
  ]
  return query.length === 0 ? filled : `${filled}?${query.join('&')}`
}

/** Every odd text in every parameter. */
export function oddParameters(routes: readonly Route[], real: Real): readonly OddRequest[] {
  return routes.flatMap((one) =>
    (one.route.parameters ?? [])
      .filter((parameter) => parameter.in !== 'header')
      .flatMap(({ name, in: place }) =>
        Object.entries(oddTexts).map(([what, odd]) => ({
          ...one,
          target: urlOf(real, one.path, place, name, odd),
          body: /GET|DELETE/.test(one.method) ? undefined : JSON.stringify(bodies[one.path] ?? {}),
          where: `${one.method} ${one.path} ${name} ${what}`,
          hasNul: withNul.has(what),
          member: `${one.method} ${one.path} ${name}`,
        })),
      ),
  )
}

/** Every odd value in every member of a body. */
export function oddMembers(routes: readonly Route[], real: Real): readonly OddRequest[] {
  return routes.flatMap((one) =>
    Object.keys(
      one.route.requestBody?.content['application/json']?.schema.properties ?? {},
    ).flatMap((name) =>
      Object.entries(oddValues).map(([what, odd]) => ({
        ...one,
        target: urlOf(real, one.path),
        body: JSON.stringify({ ...bodies[one.path], [name]: '@odd' }).replace('"@odd"', () => odd),
        where: `${one.method} ${one.path} ${name} ${what}`,
        hasNul: false,
        member: `${one.method} ${one.path} ${name}`,
      })),
    ),
  )
}
