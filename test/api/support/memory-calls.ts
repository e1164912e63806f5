import type { CallRunner } from '../../../src/app/calls/runner.ts'
import type { TextCallInput } from '../../../src/app/calls/text/types.ts'
import { answered } from './memory-quotes.ts'
import type { MemoryTexts } from './memory-texts.ts'

/** Runs calls in memory: whatever a family would make of its upstream, they are answered as told. */
export function memoryCalls(texts: MemoryTexts): CallRunner {
  const run = {
    complete: (_family: unknown, input: TextCallInput) => texts.complete(input),
    stream: (_family: unknown, input: TextCallInput) => texts.stream(input),
    quote: answered,
  }
  // The types of a family's bodies are its own.
  return run as unknown as CallRunner
}
