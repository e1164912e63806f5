/** Bounds of JSON that callers send. */

/** Maximum nesting of arrays and objects. */
export const MAX_JSON_DEPTH = 64
/** Maximum number of values in a body: bounds the memory that a small body can need. */
export const MAX_JSON_VALUES = 50_000
/**
 * Maximum number of values in a body whose text goes on. An agent sends its session whole in each turn,
 * with some 20 values for each use of a tool.
 */
export const MAX_KEPT_TEXT_VALUES = 200_000
/** Maximum number of members of an object. */
export const MAX_JSON_MEMBERS = 1_000
/**
 * Maximum number of members of an object whose names are the caller's own. The engine moves all members
 * at once when it needs more room, which must not hold the event loop for long.
 */
export const MAX_FREE_MEMBERS = 50_000
/**
 * The most characters of a body besides its media in base64. No model reads more, and a text holds
 * the event loop for longer than media of its length.
 */
export const MAX_TEXT_CHARACTERS = 16 * 1024 * 1024
/** The longest name of a member. */
export const MAX_NAME_CHARACTERS = 1_024

/**
 * Members whose content is the caller's own, at any depth: definitions and results of functions,
 * schemas, maps of names. Their objects may have as many members as a body has values, and where a body is passed
 * on, their integers keep their digits.
 */
export const FREE_MEMBERS: ReadonlySet<string> = new Set(
  (
    'tools functions parameters args arguments response input_schema schema json_schema ' +
    'response_format responseSchema response_schema responseJsonSchema response_json_schema ' +
    '_responseJsonSchema logit_bias metadata labels variables'
  ).split(' '),
)

/** Name of one more such member in a body whose text goes on: arguments of a function. */
export const FREE_IN_TEXT = 'input'
