import { Type } from 'typebox'
import { channelSettings } from '../../app/channels/settings.ts'
import type { Channel } from '../../app/ports/provider.ts'
import { membersGiven } from '../../kernel/json.ts'
import { textChannel, textSettings, type TextSettings } from '../text/settings.ts'

/** Settings of a channel of messages, in addition to those of every channel of text. */
export interface MessagesSettings extends TextSettings {
  /** The version of the wire that goes with calls whose caller names none. */
  readonly wireVersion?: string
  /** `within`: the account's `input_tokens` include what was read from and written to caches. */
  readonly cachedInput?: 'within' | 'apart'
}

export function messagesSettings({ settings }: Pick<Channel, 'settings'>): MessagesSettings {
  return settings ?? {}
}

// Members of chat alone: this wire has one bound of its output and one answer.
const {
  output_bound: _bound,
  largest_n: _answers,
  vector_stores: _stores,
  ...members
} = textChannel.members

const ofMessages = {
  wire_version: Type.Optional(Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' })),
  cached_input: Type.Optional(Type.Enum(['within', 'apart'])),
  long_prompt_tokens: Type.Optional(Type.Record(Type.String(), Type.Integer({ minimum: 1 }))),
}

/** Settings of a channel file's entries of messages. */
export const messagesChannel = channelSettings(
  { ...members, ...ofMessages },
  (entry, at) => {
    const { wire_version, cached_input, long_prompt_tokens, ...rest } = entry
    const { settings, ...own } = textChannel.read(rest, at)
    for (const name of Object.keys(long_prompt_tokens ?? {}))
      if (!at.models.includes(name))
        at.faults.push(`${at.where}.long_prompt_tokens.${name} is not a model of the channel`)
    return {
      ...own,
      settings: {
        ...textSettings({ settings }),
        ...membersGiven({
          wireVersion: wire_version,
          cachedInput: cached_input,
          longPromptTokens: long_prompt_tokens,
        }),
      },
    }
  },
  { mayLackCredential: true },
)
