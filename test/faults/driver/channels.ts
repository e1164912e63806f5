import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import { KNOWN_KEY } from '../../../infra/sandbox/assets/signature.ts'
import { imagePrices } from './images/orders.ts'
import { speechPrices } from './speech/orders.ts'
import { videoPrices } from './tasks/registry.ts'
import { checkout } from '../../helpers/checkout.ts'

/** The channel file of a run: every family, each on the one account that the sandbox has of it. */

const domestic = {
  'domestic-video-2-0': 'domestic-video-2-0-260128',
  'domestic-video-2-0-fast': 'domestic-video-2-0-fast-260128',
  'domestic-video-2-0-mini': 'domestic-video-2-0-mini-260615',
  'domestic-video-2-5': 'domestic-video-2-5-260628',
}
const overseas = {
  'overseas-video-2-0': 'overseas-video-2-0-260128',
  'overseas-video-2-0-fast': 'overseas-video-2-0-fast-260128',
  'overseas-video-2-0-mini': 'overseas-video-2-0-mini-260615',
  'overseas-video-2-0-filter-off': 'overseas-video-2-0-filter-off',
  'overseas-video-2-5': 'overseas-video-2-5-260628',
}

const clips = ['q3-turbo', 'q3-pro', 'q2', 'q2-pro-fast', 'q1', '2.0'].map(
  (name) => [`clip${name}`, `reel${name}`] as const,
)

const videos = [
  { family: 'video-a', region: 'domestic', path: '/api/v3', models: domestic },
  { family: 'video-a', region: 'overseas', path: '/api/v3', models: overseas },
  {
    family: 'video-b',
    region: 'overseas',
    path: '/video-b',
    models: { 'h3-video': 'Sandbox-H3', 'h3-video-max': 'Sandbox-H3-Max' },
  },
  { family: 'video-c', region: 'overseas', path: '', models: Object.fromEntries(clips) },
].flatMap(({ family, region, path, models }) =>
  ['first', 'second'].map((which) => {
    const id = `${family}-${region}-${which}`
    return { id, family, region, path, models }
  }),
)

/** The asset libraries of the sandbox, by where models run. */
const signingRegions: Readonly<Record<string, string>> = {
  domestic: 'cn-beijing',
  overseas: 'ap-southeast-1',
}

/** The one key they know, in the environment of a gateway. */
export const libraryKey = {
  FAULTS_ACCESS_KEY_ID: KNOWN_KEY.accessKeyId,
  FAULTS_SECRET_ACCESS_KEY: KNOWN_KEY.secretAccessKey,
}

/** The library of a channel of such models, for a channel file. */
export function libraryAt(sandboxUrl: string, region: string): object {
  return {
    base_url: `${sandboxUrl}/open`,
    signing_region: signingRegions[region],
    access_key_id: { env: 'FAULTS_ACCESS_KEY_ID' },
    secret_access_key: { env: 'FAULTS_SECRET_ACCESS_KEY' },
    verifies_persons: true,
  }
}

const images = [
  { id: 'images', family: 'image', region: 'overseas', path: 'images/v1' },
  { id: 'gen', family: 'gen', region: 'overseas', path: 'gen/v1beta' },
  { id: 'art', family: 'art-b', region: 'domestic', path: 'api/v3' },
] as const
const imageModels = {
  image: {
    'image-2': 'picture-2-2026-04-21',
    'image-2.5-flare': 'picture-2.5-flare-2026-09-08',
  },
  gen: {
    'gen-2.5-flash-image': 'painter-2.5-flash-image',
    'gen-3.1-flash-image': 'painter-3.1-flash-image-preview',
  },
  'art-b': {
    'artB-5.0-lite': 'drawing-5-0-lite-260128',
    'artB-5.0-pro': 'drawing-5-0-pro-260628',
  },
}
/** One that answers audio itself, and one that keeps files and voices. */
const speech = [
  { id: 'speech-raw', models: { 'speech-2.8-turbo': 'voicer-2.8-turbo' }, audio_mode: 'hex' },
  {
    id: 'speech-keeping',
    models: {
      'speech-2.8-hd': 'voicer-2.8-hd',
      'speech-2.6-hd': 'voicer-2.6-hd',
      'voice-clone': 'voice-clone',
    },
  },
]

/** What is answered at once may take long where other things run beside it. */
const CALL_TIMEOUT_MS = 6_000

/**
 * Writes the channel file: of video two channels a family and region, so that a creation may move on, and both on
 * the one account, so that each of them lists the tasks of the other; of what is answered at once
 * one of each kind.
 */
export async function writeChannels(
  directory: string,
  sandboxUrl: string,
  timeoutMs: number,
): Promise<string> {
  const path = join(directory, 'channels.yaml')
  const credential = { env: 'FAULTS_UPSTREAM_KEY' }
  const videoChannels = videos.map(({ path: below, ...channel }) => ({
    ...channel,
    base_url: `${sandboxUrl}${below}`,
    credential,
    ...(channel.family === 'video-a' ? { library: libraryAt(sandboxUrl, channel.region) } : {}),
    timeout_ms: timeoutMs,
    max_queries_per_second: 200,
  }))
  const imageChannels = images.map(({ path: below, ...channel }) => ({
    ...channel,
    base_url: `${sandboxUrl}/${below}`,
    credential,
    models: imageModels[channel.family],
    timeout_ms: CALL_TIMEOUT_MS,
  }))
  const speechChannels = speech.map((channel) => ({
    ...channel,
    family: 'speech',
    region: 'overseas',
    base_url: `${sandboxUrl}/speech`,
    credential,
    timeout_ms: CALL_TIMEOUT_MS,
  }))
  // JSON is YAML.
  const channels = [...videoChannels, ...imageChannels, ...speechChannels]
  await writeFile(path, JSON.stringify({ channels }, undefined, 2))
  return path
}

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
