package shop;

import java.io.Reader;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

import org.apache.ibatis.migration.Change;
import org.apache.ibatis.migration.MigrationLoader;
import org.apache.ibatis.migration.MigrationReader;

/** Migrations that are among the program's resources; MyBatis finds by itself only those that lie in a folder. */
class ResourceLoader implements MigrationLoader {
    private final String[] names;

    ResourceLoader(String... names) {
        this.names = names;
    }

    @Override
    public List<Change> getMigrations() {
        List<Change> changes = new ArrayList<>();
        for (String name : names) {
            Change change = new Change();
            change.setId(new BigDecimal(name.substring(0, 3)));
            change.setDescription(name.substring(4));
            change.setFilename(name + ".sql");
            changes.add(change);
        }
        return changes;
    }

    @Override
    public Reader getScriptReader(Change change, boolean undo) {
        return new MigrationReader(ResourceLoader.class.getResourceAsStream("/migrations/" + change.getFilename()), "UTF-8", undo, new Properties());
    }

    @Override
    public Reader getBootstrapReader() {
        return null;
    }

    @Override
    public Reader getOnAbortReader() {
        return null;
    }
}
