import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'
import { checkout } from '../../helpers/checkout.ts'
import { imagePrices } from './images/prices.ts'

/**
 * What a success costs, from the price tables alone and with arithmetic of its own: an
 * oracle that shares either with the product would share its faults.
 */

type Pair = readonly [novideo: string, video: string]

/** Price for a million tokens. */
const table: Readonly<Record<string, Pair>> = {
  'domestic 2.0 480p': ['46', '28'],
  'domestic 2.0 720p': ['46', '28'],
  'domestic 2.0 1080p': ['51', '31'],
  'domestic 2.0 4k': ['26', '16'],
  'domestic 2.0 fast': ['37', '22'],
  'domestic 2.0 mini': ['23', '14'],
  'overseas 2.0 480p': ['7', '4.3'],
  'overseas 2.0 720p': ['7', '4.3'],
  'overseas 2.0 1080p': ['7.7', '4.7'],
  'overseas 2.0 4k': ['4', '2.4'],
  'overseas 2.0 fast': ['5.6', '3.3'],
  'overseas 2.0 mini': ['3.5', '2.1'],
  'domestic 2.5': ['70', '42'],
  'overseas 2.5': ['10.7', '6.4'],
}

/** The price book of a run: what is shipped, without demonstrations, and images at prices of their own. */
export async function runPriceBook(): Promise<string> {
  const shipped = parse(await readFile(new URL('infra/pricebook.yaml', checkout), 'utf8')) as {
    readonly prices: readonly { readonly sku: string; readonly demonstration?: true }[]
  }
  const ours = new Set(imagePrices.map(({ sku }) => sku))
  const kept = shipped.prices.filter((one) => one.demonstration !== true && !ours.has(one.sku))
  // JSON is YAML.
  return JSON.stringify({ ...shipped, version: 'faults-1', prices: [...kept, ...imagePrices] })
}

/** What the request said that decides its price. */
export interface Priced {
  /** External name, without a version. */
  readonly model: string
  /** Absent: upstream renders 720p. */
  readonly resolution?: string | undefined
  readonly hasVideo: boolean
}

/** Millionths of the currency unit for a million tokens. */
function priceMicro({ model, resolution = '720p', hasVideo }: Priced): bigint {
  const [, region = '', generation = '', tier] =
    /^(domestic|overseas)-video-(2-0|2-5)(?:-(fast|mini))?(?:-filter-off)?$/.exec(model) ?? []
  const detail = generation === '2-5' ? '' : ` ${tier ?? resolution}`
  const pair = table[`${region} ${generation.replace('-', '.')}${detail}`]
  if (pair === undefined) throw new RangeError(`there is no price for ${model} ${resolution}`)
  const [whole = '0', fraction = ''] = pair[hasVideo ? 1 : 0].split('.')
  return BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, '0'))
}

/** Millionths for a million tokens, times tokens: the amount in 10⁻¹² of the currency. */
export function expectedPico(priced: Priced, tokens: number): bigint {
  return priceMicro(priced) * BigInt(tokens)
}

export function expectedCurrency(priced: Priced): string {
  return priced.model.startsWith('domestic') ? 'CNY' : 'USD'
}

/** 10⁻¹² of the currency from a decimal string. */
export function toPico(amount: string): bigint {
  const [, sign = '', whole = '0', fraction = ''] =
    /^(-?)(\d+)(?:\.(\d{1,12}))?$/.exec(amount) ?? []
  const pico = BigInt(whole) * 10n ** 12n + BigInt(fraction.padEnd(12, '0') || '0')
  return sign === '-' ? -pico : pico
}
