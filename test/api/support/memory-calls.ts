import type { CallRunner } from '../../../src/app/calls/running-calls.ts'
import type { SpeechCallInput } from '../../../src/families/speech/calls/family.ts'
import type { TextCallInput } from '../../../src/families/text/calls/types.ts'
import { answered } from './memory-quotes.ts'
import type { MemorySpeech } from './memory-speech.ts'
import type { MemoryTexts } from './memory-texts.ts'

/** Runs calls in memory: the test gives their answers, in place of a family's upstream. */
export function memoryCalls(texts: MemoryTexts, speech: MemorySpeech): CallRunner {
  const isSpeech = (input: TextCallInput | SpeechCallInput): input is SpeechCallInput =>
    input.family === 'speech'
  const run = {
    complete: (_family: unknown, input: TextCallInput | SpeechCallInput) =>
      isSpeech(input) ? speech.complete(input) : texts.complete(input),
    stream: (_family: unknown, input: TextCallInput | SpeechCallInput) =>
      isSpeech(input) ? speech.stream(input) : texts.stream(input),
    quote: answered,
  }
  // The types of a family's bodies are its own.
  return run as unknown as CallRunner
}
