import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { UpstreamCall } from '../../driver/upstream-record.ts'
import { families } from './caller.ts'

/**
 * What a call costs, from this table and the upstream's own figures alone: an oracle that shared the
 * product's arithmetic would share its faults. Prices are odd on purpose: nothing comes out round.
 */

/** USD for a million tokens. */
const tokenPrices: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'text-basic': {
    input: '0.513',
    'cached-input': '0.051',
    'cache-write-5m': '0.647',
    'cache-write-1h': '1.031',
    output: '2.003',
  },
  'text-cache': {
    input: '1.009',
    'cached-input': '0.101',
    'cache-write-5m': '1.267',
    'cache-write-1h': '2.017',
    output: '4.001',
  },
  'text-reason': {
    input: '3.019',
    'cached-input': '0.307',
    'cache-write-5m': '3.769',
    'cache-write-1h': '6.037',
    output: '12.007',
  },
}
/** USD for one. */
const WEB_SEARCH = '0.0137'

/** What a settlement line says, without what only explains it. */
export interface Owed {
  readonly sku: string
  readonly quantity: number
  readonly price: string
  readonly per: number
  readonly currency: string
  readonly pico: bigint
}

/** The models that have prices. */
const pricedModels = Object.keys(tokenPrices)

/** The price book of these tests. JSON is YAML. */
export function priceBook(): string {
  const prices = Object.entries(tokenPrices).flatMap(([model, units]) =>
    Object.entries(units).map(([unit, price]) => ({
      sku: `${model}-${unit}-token`,
      currency: 'USD',
      unit: 'token',
      per: 1_000_000,
      price,
    })),
  )
  const search = {
    sku: 'web-search-call',
    currency: 'USD',
    unit: 'call',
    per: 1,
    price: WEB_SEARCH,
  }
  return JSON.stringify({
    version: 'faults-1',
    effective_from: '2026-01-01T00:00:00Z',
    prices: [...prices, search],
  })
}

/** 10⁻⁶ of the currency from a decimal string. */
function toMicro(price: string): bigint {
  const [whole = '0', fraction = ''] = price.split('.')
  return BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, '0'))
}

/** One line at the table's price; none for nothing. */
export function owedFor(model: string, unit: string, quantity: number): readonly Owed[] {
  if (quantity === 0) return []
  const currency = 'USD'
  if (unit === 'web-search') {
    const pico = toMicro(WEB_SEARCH) * 1_000_000n * BigInt(quantity)
    return [{ sku: 'web-search-call', quantity, price: WEB_SEARCH, per: 1, currency, pico }]
  }
  const price = tokenPrices[model]?.[unit]
  if (price === undefined) throw new RangeError(`no price for ${model} ${unit}`)
  // Millionths for a million tokens, times tokens: 10⁻¹² of the currency.
  const pico = toMicro(price) * BigInt(quantity)
  return [{ sku: `${model}-${unit}-token`, quantity, price, per: 1_000_000, currency, pico }]
}

/** The lines an upstream call comes to when its own figures are settled. */
export function owedLines({ family, model, usage, tool_calls }: UpstreamCall): readonly Owed[] {
  // The native wire has no words for cache writes: they are input there.
  const written5m = family === 'native' ? 0 : usage.cache_write_5m_tokens
  const written1h = family === 'native' ? 0 : usage.cache_write_1h_tokens
  const cached = usage.cached_input_tokens
  const input = usage.input_tokens - cached - written5m - written1h + usage.tool_prompt_tokens
  return [
    ...owedFor(model, 'input', input),
    ...owedFor(model, 'cached-input', cached),
    ...owedFor(model, 'cache-write-5m', written5m),
    ...owedFor(model, 'cache-write-1h', written1h),
    ...owedFor(model, 'output', usage.output_tokens),
    ...owedFor(model, 'web-search', tool_calls['web_search'] ?? 0),
  ]
}

/** Upstream's name of a model. */
const VERSION = '2026-01-15'
/** The one model whose channels give up on callers who left: their streams are estimated. */
export const IMPATIENT_MODEL = 'text-reason'
const LARGEST_OUTPUT_TOKENS = 8_192
const IMPATIENT_DRAIN_MS = 150

/** Where each wire begins below the sandbox; others begin at `/v1`. */
const bases: Readonly<Partial<Record<string, string>>> = {
  native: 'v1beta',
  messages: 'messages/v1',
}

/** Writes the channel file: a channel of each family, and an impatient one of each beside it. */
export async function writeTextChannels(directory: string, sandboxUrl: string): Promise<string> {
  const named = (models: readonly string[]) =>
    Object.fromEntries(models.map((model) => [model, `${model}-${VERSION}`]))
  const largest = (models: readonly string[]) =>
    Object.fromEntries(models.map((model) => [model, LARGEST_OUTPUT_TOKENS]))
  const channels = families.flatMap((family) => {
    const base = {
      family,
      region: 'overseas',
      base_url: `${sandboxUrl}/${bases[family] ?? 'v1'}`,
      credential: { env: 'FAULTS_UPSTREAM_KEY' },
    }
    const patient = pricedModels.filter((model) => model !== IMPATIENT_MODEL)
    return [
      { ...base, id: family, models: named(patient), largest_output_tokens: largest(patient) },
      {
        ...base,
        id: `${family}-impatient`,
        models: named([IMPATIENT_MODEL]),
        largest_output_tokens: largest([IMPATIENT_MODEL]),
        drain_timeout_ms: IMPATIENT_DRAIN_MS,
      },
    ]
  })
  const path = join(directory, 'channels.yaml')
  // JSON is YAML.
  await writeFile(path, JSON.stringify({ channels }, undefined, 2))
  return path
}
