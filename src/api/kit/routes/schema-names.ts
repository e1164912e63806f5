/**
 * Gives the objects of an OpenAPI description names, so that the clients that programs make of it have
 * one type for each shape. A schema says its name in `named`, or in the constant of its member
 * `object`; any other is named by the place where it is.
 */

interface Schema {
  readonly [keyword: string]: unknown
  readonly named?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly additionalProperties?: Schema | boolean
  readonly enum?: readonly unknown[]
}

interface Content {
  schema?: Schema
}
interface Described {
  readonly content?: Readonly<Record<string, Content>>
}
interface Operation {
  readonly operationId?: string
  readonly requestBody?: Described
}

/** The name of an object whose members are not described. */
const ANY_OBJECT = 'AnyObject'
const anyObject: Schema = { type: 'object', additionalProperties: true }

/** The name of a type: `ImageGenerationTask` of `image.generation.task`. */
export function typeName(text: string): string {
  const words = text.split(/[^A-Za-z0-9]+/).filter((word) => word !== '')
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

function constantOf({ enum: only }: Schema): string | undefined {
  return only?.length === 1 && typeof only[0] === 'string' ? only[0] : undefined
}

function hasMembers({ properties = {} }: Schema): boolean {
  return Object.keys(properties).length > 0
}

/** The member by which one of several objects differs from the others. */
function variantOf({ properties = {}, required = [] }: Schema): string {
  const constant = Object.values(properties)
    .map(constantOf)
    .find((one) => one !== undefined)
  return typeName(constant ?? required[0] ?? Object.keys(properties)[0] ?? '')
}

/** The words of a fault are the gateway's own keyword, which answers may share with bodies. */
const WORDS = 'words'

/** The named schemas of a description. */
class Names {
  readonly #schemas = new Map<string, Schema>([[ANY_OBJECT, anyObject]])
  /** The schemas of the names as they are described, before they were shared. */
  readonly #shapes = new Map<string, string>()

  /** A schema with references in place of its objects. @param place its name if it says none */
  share(schema: Schema, place: string): Schema {
    // Some generators take a title for the name, and several schemas may have the same title.
    const rest = ['named', 'title', WORDS].reduce(without, schema)
    if (rest.anyOf !== undefined) return { ...rest, anyOf: this.#each(rest.anyOf, place) }
    if (rest.oneOf !== undefined) return { ...rest, oneOf: this.#each(rest.oneOf, place) }
    if (rest.items !== undefined) return { ...rest, items: this.share(rest.items, place) }
    if (rest['type'] !== 'object') return withType(rest)
    if (!hasMembers(rest)) return this.#sharedMap(rest, place)
    const name = this.#nameFor(schema, place)
    const properties = Object.fromEntries(
      Object.entries(rest.properties ?? {}).map(([member, below]) => [
        member,
        this.share(withDefaultInWords(below), `${name ?? place}${typeName(member)}`),
      ]),
    )
    return name === undefined ? { ...rest, properties } : this.#refer(name, { ...rest, properties })
  }

  all(): Readonly<Record<string, Schema>> {
    const byName = [...this.#schemas].toSorted(([a], [b]) => (a < b ? -1 : 1))
    return Object.fromEntries(byName)
  }

  #each(schemas: readonly Schema[], place: string): readonly Schema[] {
    const unnamed = schemas.filter((one) => hasMembers(one) && nameOf(one) === undefined)
    return schemas.map((one) =>
      this.share(
        one,
        unnamed.length === 1 || !hasMembers(one) ? place : `${place}${variantOf(one)}`,
      ),
    )
  }

  /** An object without described members. */
  #sharedMap(schema: Schema, place: string): Schema {
    const { properties: _none, description, additionalProperties: values, ...rest } = schema
    if (typeof values === 'object' && Object.keys(values).length > 0)
      return { ...schema, additionalProperties: this.share(values, place) }
    if (values === false || Object.keys(rest).length > 1) return schema
    return this.#refer(
      ANY_OBJECT,
      description === undefined ? anyObject : { ...anyObject, description },
    )
  }

  /**
   * A name that no other schema has: its declared one if possible, otherwise one made from its
   * place.
   */
  #nameFor(schema: Schema, place: string): string | undefined {
    const shape = JSON.stringify(without(schema, 'description'), (keyword, value: unknown) =>
      keyword === WORDS ? undefined : value,
    )
    const names = [nameOf(schema), place]
    const name = names.find(
      (one) => one !== undefined && (this.#shapes.get(one) ?? shape) === shape,
    )
    if (name !== undefined) this.#shapes.set(name, shape)
    return name
  }

  /** A reference; it has a description where that is not the one of the named schema. */
  #refer(name: string, schema: Schema): Schema {
    const known = this.#schemas.get(name) ?? schema
    this.#schemas.set(name, known)
    const { description } = schema
    const isOwn = description !== undefined && description !== known.description
    return { $ref: `#/components/schemas/${name}`, ...(isOwn ? { description } : {}) }
  }
}

function without(schema: Schema, keyword: string): Schema {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => name !== keyword))
}

/** The name that a schema says, in `named` or in the constant of its member `object`. */
export function nameOf({ named, properties = {} }: Schema): string | undefined {
  const { const: one = constantOf(properties['object'] ?? {}) } = properties['object'] ?? {}
  if (named !== undefined) return named
  return typeof one !== 'string' || one === 'list' ? undefined : typeName(one)
}

/** A member with its default in words: some generators require a member that has one. */
function withDefaultInWords(member: Schema): Schema {
  const { default: value, description, ...rest } = member
  if (value === undefined) return member
  const words = `Default: \`${typeof value === 'string' ? value : JSON.stringify(value)}\`.`
  return { ...rest, description: description === undefined ? words : `${description} ${words}` }
}

/** A choice with the type of its values, which some readers need. */
function withType(schema: Schema): Schema {
  if (schema.enum === undefined || schema['type'] !== undefined) return schema
  const types = new Set(schema.enum.map((one) => (Number.isInteger(one) ? 'integer' : typeof one)))
  return types.size === 1 ? { type: [...types][0], ...schema } : schema
}

/**
 * Moves the objects of the bodies and answers below `paths` to components, and returns those. A
 * name that another schema has already is made of the operation and the members that lead to it.
 */
export function nameSchemas(paths: object): Readonly<Record<string, Schema>> {
  const names = new Names()
  const shareAll = (content: Readonly<Record<string, Content>>, place: string): void => {
    for (const media of Object.values(content))
      if (media.schema !== undefined) media.schema = names.share(media.schema, place)
  }
  for (const operation of Object.values(paths).flatMap((path: object) => Object.values(path))) {
    const { operationId = '', requestBody }: Operation = operation
    const name = typeName(operationId)
    shareAll(requestBody?.content ?? {}, `${name}Request`)
    for (const { content = {} } of Object.values<Described>(operation.responses))
      shareAll(content, `${name}Answer`)
  }
  return names.all()
}
