import { CommanderError } from 'commander'
import { explain } from './explain.ts'
import { note, OutputClosedError } from './output.ts'
import { createProgram } from './program.ts'

/** Runs a command to its end; what it says of a failure is said, and `process.exitCode` set. */
export async function runCommandLine(version: string, args: readonly string[]): Promise<void> {
  try {
    await createProgram(version).parseAsync(args, { from: 'user' })
  } catch (error) {
    if (error instanceof OutputClosedError) return
    // What was asked wrongly was said already, and so was what help there is.
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode
      return
    }
    note(`tollgate: ${explain(error)}`)
    process.exitCode = 1
  }
}
