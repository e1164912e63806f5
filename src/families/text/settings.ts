import { Type } from 'typebox'
import { isTierName, passableMembers } from './rules/price-members.ts'
import { membersGiven } from '../../kernel/json.ts'
import {
  channelSettings,
  credentialHeader,
  credentialHeaderOf,
} from '../../app/channels/settings.ts'
import type { Channel, SandboxAccount } from '../../app/ports/provider.ts'

/**
 * Settings of a channel of text. Absent members have their defaults; `timeoutMs` bounds a whole
 * unstreamed answer.
 */
export interface TextSettings {
  /** The most tokens each model can answer with, by external name. */
  readonly largestOutputTokens?: Readonly<Record<string, number>>
  /** The only member that the account follows as the bound of its output, where it knows one. */
  readonly outputBound?: string
  /** The most alternatives that the account answers a call with, where it has a bound. */
  readonly largestN?: number
  /** From sending a request to the first byte of its stream. */
  readonly firstByteTimeoutMs?: number
  /** Longest silence within a stream. */
  readonly idleTimeoutMs?: number
  /** Bounds of time and bytes for reading a stream after its caller disconnected. */
  readonly drainTimeoutMs?: number
  readonly drainMaxBytes?: number
  /** Stores of the account that every tenant may search; `*` for all there are. */
  readonly vectorStores?: readonly string[]
  /** Members that change price or model and are passed on all the same: its prices allow for them. */
  readonly passes?: readonly string[]
  /** Tiers of service that the channel offers; each has its prices. */
  readonly serviceTiers?: readonly string[]
  /** False: the account does not count the tokens of a prompt before a call. */
  readonly countsTokens?: boolean
  /** Tokens of a prompt beyond which a model has other prices, by external name. */
  readonly longPromptTokens?: Readonly<Record<string, number>>
}

export function textSettings({ settings }: Pick<Channel, 'settings'>): TextSettings {
  return settings ?? {}
}

/** No model answers with more, whatever a channel file says. */
const MAX_LARGEST_OUTPUT_TOKENS = 10_000_000
/** Names under which servers take the bound of an answer. */
const OUTPUT_BOUNDS = [
  'max_completion_tokens',
  'max_tokens',
  'max_new_tokens',
  'max_gen_len',
  'n_predict',
  'num_predict',
]
const Milliseconds = Type.Optional(Type.Integer({ minimum: 10, maximum: 3_600_000 }))

/**
 * The maximum cost of a call without a limit must be known, so the largest output of each model is
 * required.
 */
export const textChannel = channelSettings(
  {
    ...credentialHeader,
    first_byte_timeout_ms: Milliseconds,
    idle_timeout_ms: Milliseconds,
    drain_timeout_ms: Milliseconds,
    drain_max_bytes: Type.Optional(Type.Integer({ minimum: 0, maximum: 1 << 30 })),
    largest_output_tokens: Type.Optional(
      Type.Record(Type.String(), Type.Integer({ minimum: 1, maximum: MAX_LARGEST_OUTPUT_TOKENS })),
    ),
    output_bound: Type.Optional(Type.Enum([...OUTPUT_BOUNDS])),
    largest_n: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
    vector_stores: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 1_000 }),
    ),
    passes: Type.Optional(Type.Array(Type.Enum([...passableMembers]))),
    service_tiers: Type.Optional(Type.Array(Type.String(), { maxItems: 16 })),
    counts_tokens: Type.Optional(Type.Boolean()),
  },
  (entry, { models, where, faults }) => {
    const largest: Readonly<Record<string, number>> = entry.largest_output_tokens ?? {}
    for (const name of models)
      if (!Object.hasOwn(largest, name))
        faults.push(
          `${where}.largest_output_tokens has no entry for ${name}: its maximum number of output tokens`,
        )
    for (const tier of entry.service_tiers ?? [])
      if (!isTierName(tier))
        faults.push(`${where}.service_tiers: ${tier} cannot be the name of a tier`)
    for (const name of Object.keys(largest))
      if (!models.includes(name))
        faults.push(`${where}.largest_output_tokens.${name} is not a model of the channel`)
    const settings: TextSettings = {
      ...membersGiven({
        firstByteTimeoutMs: entry.first_byte_timeout_ms,
        idleTimeoutMs: entry.idle_timeout_ms,
        drainTimeoutMs: entry.drain_timeout_ms,
        drainMaxBytes: entry.drain_max_bytes,
        outputBound: entry.output_bound,
        largestN: entry.largest_n,
        vectorStores: entry.vector_stores,
        passes: entry.passes,
        serviceTiers: entry.service_tiers,
        countsTokens: entry.counts_tokens,
      }),
      largestOutputTokens: largest,
    }
    return { ...credentialHeaderOf(entry), settings }
  },
  { mayLackCredential: true },
)

/** Models the sandbox offers on every text wire; the shipped price book has prices for them. */
const MODELS = [
  'text-basic',
  'text-cache',
  'text-reason',
  'text-tools',
  'gen-3-pro-preview-file',
] as const
/** The sandbox answers with as much as a test requests; its models count as small ones. */
const LARGEST_OUTPUT_TOKENS = 8_192
/** Answers name this version of each of them. */
const VERSION = '2026-01-15'

const settings: TextSettings = {
  largestOutputTokens: Object.fromEntries(MODELS.map((name) => [name, LARGEST_OUTPUT_TOKENS])),
  vectorStores: ['*'],
}

/** The sandbox as the upstream of a text wire. */
export function textSandbox(family: string, path: string): SandboxAccount {
  return {
    id: `sandbox-${family}`,
    family,
    path,
    models: Object.fromEntries(MODELS.map((name) => [name, `${name}-${VERSION}`])),
    settings,
  }
}
