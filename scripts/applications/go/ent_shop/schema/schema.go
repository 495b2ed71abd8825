// Package schema is what ent generates the shop's client from, and its tables.
package schema

import (
	"time"

	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

func mysql(column string) map[string]string { return map[string]string{dialect.MySQL: column} }

type Customer struct{ ent.Schema }

func (Customer) Fields() []ent.Field {
	return []ent.Field{
		field.String("email").MaxLen(190).Unique(),
		field.String("name").MaxLen(100).Comment("as on the parcel").Annotations(entsql.WithComments(true)),
		field.Time("joined").SchemaType(mysql("date")),
		field.JSON("profile", map[string]any{}).Optional(),
		field.Time("changed").Default(time.Now).UpdateDefault(time.Now).Annotations(entsql.Default("CURRENT_TIMESTAMP")),
	}
}

func (Customer) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("orders", Order.Type).Annotations(entsql.OnDelete(entsql.Cascade)),
		edge.To("referred", Customer.Type).Annotations(entsql.OnDelete(entsql.SetNull)).From("referrer").Unique(),
	}
}

func (Customer) Indexes() []ent.Index {
	return []ent.Index{index.Fields("name", "joined").Annotations(entsql.DescColumns("joined"))}
}

type Tag struct{ ent.Schema }

func (Tag) Fields() []ent.Field {
	return []ent.Field{field.String("id").StorageKey("word").MaxLen(30)}
}

type Product struct{ ent.Schema }

func (Product) Fields() []ent.Field {
	return []ent.Field{
		field.Uint64("id"),
		field.String("sku").SchemaType(mysql("char(12)")).Unique(),
		field.Float("price").SchemaType(mysql("decimal(12,4)")),
		field.Int("stock").Default(0).Annotations(entsql.Default("0")),
		field.Bytes("picture").Optional(),
		field.Text("text").Optional(),
	}
}

func (Product) Edges() []ent.Edge {
	return []ent.Edge{edge.To("tags", Tag.Type), edge.From("lines", Line.Type).Ref("product")}
}

func (Product) Indexes() []ent.Index {
	return []ent.Index{index.Fields("text").Annotations(entsql.Prefix(20))}
}

func (Product) Annotations() []schema.Annotation {
	return []schema.Annotation{&entsql.Annotation{Checks: map[string]string{"price_is_positive": "price >= 0"}}}
}

type Order struct{ ent.Schema }

func (Order) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Default(uuid.New),
		field.Time("placed").SchemaType(mysql("datetime(6)")),
		field.Enum("status").Values("placed", "paid").Default("placed"),
	}
}

func (Order) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("customer", Customer.Type).Ref("orders").Unique().Required(),
		edge.To("lines", Line.Type).Annotations(entsql.OnDelete(entsql.Cascade)),
	}
}

type Line struct{ ent.Schema }

func (Line) Fields() []ent.Field { return []ent.Field{field.Int16("quantity")} }

func (Line) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("order", Order.Type).Ref("lines").Unique().Required(),
		edge.To("product", Product.Type).Unique().Required().Annotations(entsql.OnDelete(entsql.Restrict)),
	}
}

func (Line) Indexes() []ent.Index { return []ent.Index{index.Edges("order", "product").Unique()} }
