import { readFileSync, writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import t from 'tap'
import { allProjections } from '../../projections/registry.ts'
import { createProgram } from '../../src/cli/program.ts'

/** What `--help` says. `RECORD_HELP=1` writes it again; its difference is what changed for readers of the help. */
const recorded = new URL('../fixtures/help.txt', import.meta.url)
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

t.test('the help of every command is as recorded', async (t) => {
  const help = helpOf(await createProgram('1.2.3'), 'tollgate')
  t.ok(help.length > 25, `${help.length} commands`)
  const text = `${help.join('\n')}\n`
  if (process.env['RECORD_HELP'] === '1') writeFileSync(recorded, text)
  t.equal(text, readFileSync(recorded, 'utf8'))
})

t.test('a command is registered the same where no other one is loaded', async (t) => {
  for (const command of (await createProgram('1.2.3')).commands) {
    const { commands } = await createProgram('1.2.3', command.name())
    const one = commands.find((found) => found.name() === command.name())
    t.ok(one !== undefined && commands.length <= 3, `${command.name()} is loaded by its name`)
    t.same(one && helpOf(one, command.name()), helpOf(command, command.name()))
  }
})

t.test('the help of a rebuild names every read model', async (t) => {
  const rebuild = (await createProgram('1.2.3')).commands.find((one) => one.name() === 'rebuild')
  const names = allProjections.map(({ name }) => name).toSorted()
  t.equal(rebuild?.registeredArguments[0]?.description, `of ${names.join(', ')}`)
})

t.test('the version is that of the program', async (t) => {
  t.equal((await createProgram('1.2.3')).version(), '1.2.3')
})
