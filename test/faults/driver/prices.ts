import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'
import { checkout } from '../../helpers/checkout.ts'
import { imagePrices } from './images/prices.ts'
import { speechPrices } from './speech/prices.ts'
import { videoPrices } from './tasks/registry.ts'

/** Prices of a run's own, where what is shipped is demonstration or too round to show anything. */
const ours = [...imagePrices, ...speechPrices, ...videoPrices]

/** The price book of a run: what is shipped, without demonstrations, and what has prices of its own. */
export async function runPriceBook(): Promise<string> {
  const shipped = parse(await readFile(new URL('infra/pricebook.yaml', checkout), 'utf8')) as {
    readonly prices: readonly { readonly sku: string; readonly demonstration?: true }[]
  }
  const skus = new Set(ours.map(({ sku }) => sku))
  const kept = shipped.prices.filter((one) => one.demonstration !== true && !skus.has(one.sku))
  // JSON is YAML.
  return JSON.stringify({ ...shipped, version: 'faults-1', prices: [...kept, ...ours] })
}
