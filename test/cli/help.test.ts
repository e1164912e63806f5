import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import t from 'tap'
import { createProgram } from '../../src/cli/program.ts'

const known = readFileSync(new URL('../fixtures/help.txt', import.meta.url), 'utf8')
const WIDTH = 100

/** What `--help` says of a command and of all below it, under the command as it is typed. */
function helpOf(command: Command, typed: string): readonly string[] {
  let text = ''
  command.configureOutput({
    writeOut: (part) => void (text += part),
    getOutHelpWidth: () => WIDTH,
    getOutHasColors: () => false,
  })
  command.outputHelp()
  const below = command.commands.flatMap((sub) => helpOf(sub, `${typed} ${sub.name()}`))
  return [`$ ${typed} --help\n${text}`, ...below]
}

t.test('every command teaches itself in these words', (t) => {
  const help = helpOf(createProgram('1.2.3'), 'tollgate')
  t.ok(help.length > 25, `${help.length} commands`)
  t.equal(`${help.join('\n')}\n`, known)
  t.end()
})

t.test('the version is that of the program', (t) => {
  t.equal(createProgram('1.2.3').version(), '1.2.3')
  t.end()
})
