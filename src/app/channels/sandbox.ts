import { videoAModels } from '../../domain/families/video-a/models.ts'
import { type TextFamily, textFamilies } from '../../domain/families/text/models.ts'
import type { Channel } from '../ports.ts'
import {
  DEFAULT_MAX_CONCURRENT,
  DEFAULT_MAX_TEXT_CONCURRENT,
  DEFAULT_TEXT_TIMEOUT_MS,
  DEFAULT_TIMEOUT_MS,
} from './load.ts'

/** Where the simulated upstream of the `/provA` video family lives on the sandbox. */
const VIDEO_A_PATH = '/api/v3'
const TEXT_PATHS: Readonly<Record<TextFamily, string>> = {
  chat: '/v1',
  responses: '/v1',
  native: '/v1beta',
}
/** Models the sandbox offers on every text wire; the shipped price book has prices for them. */
const TEXT_MODELS = [
  'text-basic',
  'text-cache',
  'text-reason',
  'text-tools',
  'gen-3-pro-preview-file',
] as const
/** The sandbox answers with as much as it is told to; its models are taken for small ones. */
const TEXT_LARGEST_OUTPUT_TOKENS = 8_192
/** Answers name this version of each of them. */
const TEXT_VERSION = '2026-01-15'

/**
 * What is used when no channels are configured: the sandbox for every model, one channel a region.
 * Its model names are the external ones, so that no vendor is named.
 */
export function sandboxChannels(input: {
  /** `http://host:port` of the sandbox. */
  readonly baseUrl: string
  readonly credential?: string
  readonly timeoutMs?: number
}): readonly Channel[] {
  const baseUrl = `${input.baseUrl.replace(/\/+$/, '')}${VIDEO_A_PATH}`
  return (['domestic', 'overseas'] as const).map((region) => ({
    id: `sandbox-video-a-${region}`,
    family: 'video-a',
    region,
    baseUrl,
    credential: input.credential ?? 'sandbox',
    models: Object.fromEntries(
      videoAModels
        .filter((model) => model.region === region)
        .map((model) => [model.name, upstreamNameOf(model.name, model.aliases)]),
    ),
    weight: 1,
    priority: 0,
    timeoutMs: input.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    maxConcurrent: DEFAULT_MAX_CONCURRENT,
  }))
}

/** The sandbox for every text model, one channel a wire. */
export function sandboxTextChannels(input: {
  /** `http://host:port` of the sandbox. */
  readonly baseUrl: string
  readonly credential?: string
  readonly timeoutMs?: number
}): readonly Channel[] {
  return textFamilies.map((family) => ({
    id: `sandbox-${family}`,
    family,
    region: 'overseas',
    baseUrl: `${input.baseUrl.replace(/\/+$/, '')}${TEXT_PATHS[family]}`,
    credential: input.credential ?? 'sandbox',
    models: Object.fromEntries(TEXT_MODELS.map((name) => [name, `${name}-${TEXT_VERSION}`])),
    weight: 1,
    priority: 0,
    timeoutMs: input.timeoutMs ?? DEFAULT_TEXT_TIMEOUT_MS,
    maxConcurrent: DEFAULT_MAX_TEXT_CONCURRENT,
    largestOutputTokens: Object.fromEntries(
      TEXT_MODELS.map((name) => [name, TEXT_LARGEST_OUTPUT_TOKENS]),
    ),
    text: { vectorStores: ['*'] },
  }))
}

/** Upstream knows versioned names; a filter-off model has none. */
function upstreamNameOf(name: string, aliases: readonly string[]): string {
  return aliases[0] ?? name
}
